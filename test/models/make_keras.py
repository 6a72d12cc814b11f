#!/usr/bin/env python3
"""Makes a Keras model of test/models through tf2onnx.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

Needs TensorFlow and tf2onnx (python3 -m venv; pip install tensorflow-cpu tf2onnx). Keras
holds images channels-last, so the graph is full of transposes around convolutions.
"""

import os

import numpy as np
import tensorflow as tf
import tf2onnx

FOLDER = os.path.dirname(os.path.abspath(__file__))


def build():
    layers = tf.keras.layers
    x = inputs = tf.keras.Input((16, 16, 3), name="image")
    x = layers.Conv2D(8, 3, padding="same", use_bias=False)(x)
    x = layers.ReLU(6.0)(layers.BatchNormalization()(x))
    x = layers.DepthwiseConv2D(3, strides=2, padding="same")(x)
    x = layers.Activation("swish")(x)
    skip = x
    x = layers.Conv2D(8, 1, activation="relu")(x)
    x = layers.Add()([x, skip])
    x = layers.MaxPooling2D(2, padding="same")(x)
    x = layers.Conv2DTranspose(6, 2, strides=2, padding="same", activation="tanh")(x)
    x = layers.LayerNormalization()(x)
    x = layers.GlobalAveragePooling2D()(x)
    x = layers.Dense(12, activation="selu")(x)
    return tf.keras.Model(inputs, layers.Dense(5, activation="softmax", name="classes")(x))


def main():
    tf.keras.utils.set_random_seed(1)
    model = build()
    draw = np.random.default_rng(1)
    for weight in model.weights:  # also scales, shifts and statistics
        spread = draw.uniform(0.5, 1.5, weight.shape) if "variance" in weight.name \
            or "gamma" in weight.name else draw.normal(0, 0.3, weight.shape)
        weight.assign(spread.astype("float32"))
    x = draw.normal(size=(2, 16, 16, 3)).astype("float32")
    signature = [tf.TensorSpec((None, 16, 16, 3), tf.float32, name="image")]
    path = os.path.join(FOLDER, "keras.onnx")
    function = tf.function(lambda image: {"classes": model(image, training=False)})
    tf2onnx.convert.from_function(function, input_signature=signature, opset=15,
                                  output_path=path)

    # The same weights in float64.
    tf.keras.backend.set_floatx("float64")
    twin = build()
    twin.set_weights([w.astype("float64") for w in model.get_weights()])
    y = twin(x.astype("float64"), training=False).numpy()
    np.savez_compressed(os.path.join(FOLDER, "keras-in.npz"), image=x)
    np.savez_compressed(os.path.join(FOLDER, "keras-ref.npz"), classes=y)
    print("keras:", os.path.getsize(path), "bytes, y", y[0])


if __name__ == "__main__":
    main()
