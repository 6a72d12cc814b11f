/* DsoHandle.c - what the destructors of static objects belong to.
 *
 * The compiler's own start-up file has this too, but ends the unwind tables, so
 * that it cannot be part of a prelinked object
 * (tools/cmake/SinterPrelink.cmake).
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
__attribute__((visibility("hidden"))) void *__dso_handle = &__dso_handle;
