/* Runs two compiled models in one process and counts its threads.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#include "lenet.h"
#include "mlp.h"

#include <dirent.h>
#include <stdio.h>

static int countThreads(void) {
  int count = 0;
  DIR *tasks = opendir("/proc/self/task");
  for (struct dirent *entry; tasks && (entry = readdir(tasks));)
    count += entry->d_name[0] != '.';
  closedir(tasks);
  return count;
}

static float image[SINTER_LENET_INPUT_X_ELEMENTS],
    classes[SINTER_LENET_OUTPUT_Y_ELEMENTS], row[SINTER_MLP_INPUT_X_ELEMENTS],
    scores[SINTER_MLP_OUTPUT_Y_ELEMENTS];

int main(void) {
  sinter_lenet *lenet;
  sinter_mlp *mlp;
  if (sinter_lenet_create(4, &lenet) || sinter_mlp_create(4, &mlp) ||
      sinter_lenet_infer(lenet, image, classes) ||
      sinter_mlp_infer(mlp, row, scores))
    return fprintf(stderr, "%s%s\n", sinter_lenet_last_error(),
                   sinter_mlp_last_error()),
           1;
  printf("%d threads\n", countThreads());
  if (!sinter_lenet_run(NULL, NULL, NULL))
    return 1;
  printf("%s\n", sinter_lenet_last_error());
  sinter_lenet_destroy(lenet);
  sinter_mlp_destroy(mlp);
  sinter_mlp_destroy(NULL);
  return 0;
}
