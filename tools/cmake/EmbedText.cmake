# cmake -DINPUT=FILE -DOUTPUT=FILE -P EmbedText.cmake: a text as a C++ string literal.
file(READ ${INPUT} text)
file(WRITE ${OUTPUT} "R\"sinter(${text})sinter\"\n")
