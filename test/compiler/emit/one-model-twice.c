/* Runs two libraries of one model in one process.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#include "first.h"
#include "libthird-2.h"

#include <stdio.h>
#include <string.h>

static float row[SINTER_FIRST_INPUT_X_ELEMENTS],
    a[SINTER_FIRST_OUTPUT_Y_ELEMENTS], b[SINTER_SECOND_OUTPUT_Y_ELEMENTS];

int main(void) {
  sinter_first *first;
  sinter_second *second;
  for (int i = 0; i < SINTER_FIRST_INPUT_X_ELEMENTS; ++i)
    row[i] = (float)(i % 7) - 3;
  if (sinter_first_create(1, &first) || sinter_second_create(1, &second) ||
      sinter_first_infer(first, row, a) || sinter_second_infer(second, row, b))
    return 1;
  if (a[0] == 0 || memcmp(a, b, sizeof a))
    return 1;
  printf("the same %d numbers\n", (int)(sizeof a / sizeof *a));
  sinter_first_destroy(first);
  sinter_second_destroy(second);
  return 0;
}
