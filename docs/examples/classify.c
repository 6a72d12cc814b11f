/* Classifies a file of images with a model that sinterc compiled to a library.
 *
 *     sinterc fashion_cnn.onnx -o fashion_cnn.so --batch=100
 *     cc -I. classify.c ./fashion_cnn.so -o classify
 *     ./classify t10k-images-idx3-ubyte labels-idx1-ubyte
 *
 * Reads 28x28 images in IDX form, scales the bytes to 0..1 and writes the
 * predicted classes as an IDX file of labels. `fashion_cnn.h` is the header
 * that sinterc wrote; it needs no other.
 *
 * Part of Sinter, under Apache-2.0 WITH LLVM-exception. */
#include "fashion_cnn.h"

#include <stdio.h>

enum {
  batch = SINTER_FASHION_CNN_INPUT_X_DIM0,
  classes = SINTER_FASHION_CNN_OUTPUT_LOGITS_DIM1,
  pixels = 28 * 28
};

static unsigned char bytes[batch * pixels];
static float images[batch * pixels], logits[batch * classes];

/* IDX stores its numbers big-endian. */
static int readNumber(FILE *file, uint32_t *number) {
  unsigned char b[4];
  if (fread(b, 1, 4, file) != 4)
    return 0;
  *number =
      (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
  return 1;
}

static int writeNumber(FILE *file, uint32_t number) {
  unsigned char b[4] = {(unsigned char)(number >> 24),
                        (unsigned char)(number >> 16),
                        (unsigned char)(number >> 8), (unsigned char)number};
  return fwrite(b, 1, 4, file) == 4;
}

static int largest(const float *values, int count) {
  int best = 0;
  for (int i = 1; i < count; ++i)
    if (values[i] > values[best])
      best = i;
  return best;
}

/* Classifies `count` images from `in`, a batch at a time; the last batch may be
 * partly filled, its other rows are computed and not written. Returns 0 on
 * failure. */
static int classify(sinter_fashion_cnn *model, FILE *in, FILE *out,
                    uint32_t count) {
  for (uint32_t done = 0; done < count; done += batch) {
    uint32_t rows = count - done < batch ? count - done : batch;
    if (fread(bytes, pixels, rows, in) != rows)
      return fprintf(stderr, "classify: the images end too early\n"), 0;
    for (int i = 0; i < batch * pixels; ++i)
      images[i] = bytes[i] / 255.0f;
    if (sinter_fashion_cnn_infer(model, images, logits) != 0)
      return fprintf(stderr, "classify: %s\n", sinter_fashion_cnn_last_error()),
             0;
    for (uint32_t row = 0; row < rows; ++row)
      if (fputc(largest(logits + row * classes, classes), out) == EOF)
        return perror("classify"), 0;
  }
  return 1;
}

int main(int argc, char **argv) {
  if (argc != 3)
    return fprintf(stderr, "usage: classify IMAGES LABELS\n"), 2;
  FILE *in = fopen(argv[1], "rb");
  if (!in)
    return perror(argv[1]), 2;
  uint32_t magic, count, height, width;
  if (!readNumber(in, &magic) || !readNumber(in, &count) ||
      !readNumber(in, &height) || !readNumber(in, &width) || magic != 0x803 ||
      height * width != pixels)
    return fprintf(stderr, "classify: %s holds no 28x28 images\n", argv[1]), 2;
  FILE *out = fopen(argv[2], "wb");
  if (!out || !writeNumber(out, 0x801) || !writeNumber(out, count))
    return perror(argv[2]), 2;

  sinter_fashion_cnn *model;
  if (sinter_fashion_cnn_create(0, &model) != 0)
    return fprintf(stderr, "classify: %s\n", sinter_fashion_cnn_last_error()),
           1;
  int good = classify(model, in, out, count);
  sinter_fashion_cnn_destroy(model);
  fclose(in);
  if (fclose(out) != 0)
    return perror(argv[2]), 1;
  return good ? 0 : 1;
}
