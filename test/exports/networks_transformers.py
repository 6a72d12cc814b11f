"""Small configurations of the networks of transformers: one of the lists of networks.py.

Part of Sinter, under Apache-2.0 WITH LLVM-exception.
"""

import transformers as hf
from torch import nn

from network import Network, images, maskedTokens, tokens

VOCABULARY, LENGTH, WIDTH = 48, 10, 32
# What configurations call their sizes; each takes the names it knows.
SIZES = dict(vocab_size=VOCABULARY, hidden_size=WIDTH, num_hidden_layers=2,
             num_attention_heads=4, intermediate_size=48, max_position_embeddings=16)
NO_DROPOUT = dict(hidden_dropout_prob=0.0, attention_probs_dropout_prob=0.0)
GROUPED = dict(**SIZES, num_key_value_heads=2, head_dim=8, use_cache=False)


class Wrapped(nn.Module):
    """Takes tensors in the order of the inputs and returns one tensor."""

    def __init__(self, model, names=("input_ids",), output="logits", **options):
        super().__init__()
        self.model, self.names, self.output, self.options = model, names, output, options

    def forward(self, *inputs):
        result = self.model(**dict(zip(self.names, inputs)), **self.options)
        return getattr(result, self.output)


MASKED = ("input_ids", "attention_mask")


def build(model, config, names=("input_ids",), output="logits", **options):
    return lambda: Wrapped(model(config()), names, output, **options)


def language(name, model, config, **options):
    """A causal language model."""
    return Network(name, build(model, config, use_cache=False), tokens(VOCABULARY, LENGTH),
                   "tokens", **options)


def masked(name, model, config, kind="classes", **options):
    """An encoder with an attention mask."""
    return Network(name, build(model, config, MASKED), maskedTokens(VOCABULARY, LENGTH), kind,
                   **options)


def distilBert():
    return hf.DistilBertConfig(vocab_size=VOCABULARY, dim=WIDTH, n_layers=2, n_heads=4,
                               hidden_dim=48, max_position_embeddings=16, dropout=0.0,
                               attention_dropout=0.0, seq_classif_dropout=0.0)


def albert():
    return hf.AlbertConfig(**SIZES, **NO_DROPOUT, embedding_size=16, classifier_dropout_prob=0.0)


def gpt2():
    return hf.GPT2Config(vocab_size=VOCABULARY, n_positions=16, n_embd=WIDTH, n_layer=2,
                         n_head=4, resid_pdrop=0.0, embd_pdrop=0.0, attn_pdrop=0.0)


def opt():
    return hf.OPTConfig(vocab_size=VOCABULARY, hidden_size=WIDTH, word_embed_proj_dim=WIDTH,
                        num_hidden_layers=2, num_attention_heads=4, ffn_dim=48,
                        max_position_embeddings=16, dropout=0.0, attention_dropout=0.0)


def gptNeoX():
    return hf.GPTNeoXConfig(**SIZES, hidden_dropout=0.0, attention_dropout=0.0)


def phi():
    return hf.PhiConfig(**SIZES, partial_rotary_factor=0.5)


def t5():
    return hf.T5Config(vocab_size=VOCABULARY, d_model=WIDTH, d_kv=8, d_ff=48, num_layers=2,
                       num_heads=4, dropout_rate=0.0, classifier_dropout=0.0)


def bart():
    return hf.BartConfig(vocab_size=VOCABULARY, d_model=WIDTH, encoder_layers=2,
                         decoder_layers=1, encoder_attention_heads=4, decoder_attention_heads=4,
                         encoder_ffn_dim=48, decoder_ffn_dim=48, max_position_embeddings=16,
                         dropout=0.0, attention_dropout=0.0, activation_dropout=0.0)


class BartEncoder(nn.Module):
    """The encoder of BART, with a head for each token."""

    def __init__(self):
        super().__init__()
        self.encoder = hf.BartModel(bart()).encoder
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, tokens):
        return self.head(self.encoder(tokens).last_hidden_state)


class T5Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = hf.T5EncoderModel(t5())
        self.head = nn.Linear(WIDTH, 5)

    def forward(self, tokens):
        return self.head(self.encoder(tokens).last_hidden_state)


def vit():
    return hf.ViTConfig(hidden_size=WIDTH, num_hidden_layers=2, num_attention_heads=4,
                        intermediate_size=48, image_size=32, patch_size=8, num_labels=10,
                        **NO_DROPOUT)


def mamba():
    return hf.MambaConfig(vocab_size=VOCABULARY, hidden_size=16, state_size=4,
                          num_hidden_layers=2, use_cache=False)


NETWORKS = [
    masked("hf-bert", hf.BertForSequenceClassification,
           lambda: hf.BertConfig(**SIZES, **NO_DROPOUT, num_labels=5), momentum=0.9),
    masked("hf-bert-masked-lm", hf.BertForMaskedLM,
           lambda: hf.BertConfig(**SIZES, **NO_DROPOUT), "tokens"),
    masked("hf-roberta", hf.RobertaForSequenceClassification,
           lambda: hf.RobertaConfig(**SIZES, **NO_DROPOUT, num_labels=5)),
    masked("hf-distilbert", hf.DistilBertForSequenceClassification, distilBert),
    masked("hf-albert", hf.AlbertForSequenceClassification, albert),
    masked("hf-electra", hf.ElectraForTokenClassification,
           lambda: hf.ElectraConfig(**SIZES, **NO_DROPOUT, embedding_size=16, num_labels=5),
           "tokens"),
    masked("hf-mpnet", hf.MPNetForSequenceClassification,
           lambda: hf.MPNetConfig(**SIZES, **NO_DROPOUT, num_labels=5)),
    language("hf-gpt2", hf.GPT2LMHeadModel, gpt2, momentum=0.9),
    language("hf-opt", hf.OPTForCausalLM, opt),
    language("hf-gpt-neox", hf.GPTNeoXForCausalLM, gptNeoX),
    language("hf-llama", hf.LlamaForCausalLM, lambda: hf.LlamaConfig(**GROUPED), momentum=0.9),
    language("hf-qwen2", hf.Qwen2ForCausalLM,
             lambda: hf.Qwen2Config(**SIZES, num_key_value_heads=2, tie_word_embeddings=True)),
    language("hf-qwen3", hf.Qwen3ForCausalLM, lambda: hf.Qwen3Config(**GROUPED)),
    language("hf-mistral", hf.MistralForCausalLM,
             lambda: hf.MistralConfig(**GROUPED, sliding_window=4)),
    language("hf-gemma", hf.GemmaForCausalLM, lambda: hf.GemmaConfig(**GROUPED)),
    language("hf-phi", hf.PhiForCausalLM, phi),
    language("hf-mamba", hf.MambaForCausalLM, mamba),
    Network("hf-t5-encoder", T5Encoder, tokens(VOCABULARY, LENGTH), "tokens"),
    Network("hf-bart-encoder", BartEncoder, tokens(VOCABULARY, LENGTH), "tokens"),
    Network("hf-vit", build(hf.ViTForImageClassification, vit, ("pixel_values",)), images(32)),
]
