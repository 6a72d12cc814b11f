# Writes a C++ source with the parts of the page as string literals:
#   cmake -DFOLDER=... -DOUTPUT=... "-DSCRIPTS=a.js,b.js" -P EmbedPage.cmake
# Compilers limit the length of one literal, so that a part is several in a row.
string(REPLACE "," ";" scripts "${SCRIPTS}")

function(literal result)
  set(text "")
  foreach(path IN LISTS ARGN)
    file(READ "${FOLDER}/${path}" part)
    string(APPEND text "${part}")
  endforeach()
  string(LENGTH "${text}" length)
  set(literals "")
  set(at 0)
  while(at LESS length)
    string(SUBSTRING "${text}" ${at} 8000 piece)
    string(APPEND literals "R\"sinter_page(${piece})sinter_page\"\n")
    math(EXPR at "${at} + 8000")
  endwhile()
  set(${result} "${literals}" PARENT_SCOPE)
endfunction()

literal(html page.html)
literal(styles page.css)
literal(code ${scripts})
file(WRITE "${OUTPUT}" "// Made by EmbedPage.cmake.
extern const char *const kPageHtml;
extern const char *const kPageStyles;
extern const char *const kPageScripts;
const char *const kPageHtml = ${html};
const char *const kPageStyles = ${styles};
const char *const kPageScripts = ${code};
")
