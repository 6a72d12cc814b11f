/* DsoHandle.c - the object that destructors of static objects belong to.
 *
 * The compiler's start-up file also defines this symbol. But that file ends the
 * unwind tables, so it cannot be part of a prelinked object
 * (tools/cmake/SinterPrelink.cmake).
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;
