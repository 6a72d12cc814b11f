"""Networks whose parameters the exporter folds in one place and keeps in another.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.

The file has every parameter, or warns; but some constant in it depends on one as well. One of
the lists of networks.py.
"""

import torch
from torch import nn
from torch.nn import functional as F

from network import Network, features


class Elman(nn.Module):
    """nn.RNN, which is unrolled: its first step, from zeros, is folded to a bias."""

    def __init__(self):
        super().__init__()
        self.rnn, self.head = nn.RNN(4, 8, batch_first=True), nn.Linear(8, 5)

    def forward(self, x):
        return self.head(self.rnn(x)[0][:, -1])


class Cells(nn.Module):
    """A loop over a GRUCell and an LSTMCell, which begin with zeros."""

    def __init__(self):
        super().__init__()
        self.gru, self.lstm = nn.GRUCell(4, 8), nn.LSTMCell(8, 8)
        self.head = nn.Linear(8, 5)

    def forward(self, x):
        h, state = None, None
        for step in x.unbind(1):
            h = self.gru(step, h)
            state = self.lstm(h, state)
        return self.head(state[0])


class LearnedState(nn.Module):
    """An LSTM whose initial state is learned."""

    def __init__(self):
        super().__init__()
        self.lstm, self.head = nn.LSTM(4, 8, batch_first=True), nn.Linear(8, 5)
        self.h = nn.Parameter(0.3 * torch.randn(1, 1, 8))
        self.c = nn.Parameter(0.3 * torch.randn(1, 1, 8))

    def forward(self, x):
        state = tuple(s.expand(-1, x.shape[0], -1).contiguous() for s in (self.h, self.c))
        return self.head(self.lstm(x, state)[0][:, -1])


class TiedAutoencoder(nn.Module):
    """The decoder's weight is the encoder's, transposed."""

    def __init__(self):
        super().__init__()
        self.encoder = nn.Linear(12, 5)
        self.bias = nn.Parameter(torch.zeros(12))

    def forward(self, x):
        return F.linear(torch.tanh(self.encoder(x)), self.encoder.weight.t(), self.bias)


class LearnedScale(nn.Module):
    """A parameter that is used as it is and as its exponential."""

    def __init__(self):
        super().__init__()
        self.stem, self.head = nn.Linear(12, 16), nn.Linear(16, 5)
        self.width = nn.Parameter(0.1 * torch.randn(16))

    def forward(self, x):
        return self.head(torch.tanh(self.stem(x) * self.width.exp() + self.width))


NETWORKS = [
    Network("elman-rnn", Elman, features(6, 4), rate=0.1, momentum=0.9),
    Network("recurrent-cells", Cells, features(4, 4), rate=0.1, momentum=0.9),
    Network("lstm-learned-state", LearnedState, features(6, 4), rate=0.1, momentum=0.9),
    Network("tied-autoencoder", TiedAutoencoder, features(12), "values", rate=0.1, momentum=0.9),
    Network("learned-scale", LearnedScale, features(12), rate=0.05, momentum=0.9),
]
