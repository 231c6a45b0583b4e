"""A GPT-2 on attend: what every token looks at, layer by layer, without one matrix of weights.

The model is small and its weights are random, so that nothing is downloaded; a pretrained one goes the same way:

    model = transformers.AutoModelForCausalLM.from_pretrained("gpt2", attn_implementation="attend")
"""

import torch
import transformers

import attend.torch

attend.torch.install()

torch.manual_seed(1)
sizes = {"n_layer": 3, "n_head": 4, "n_embd": 64, "vocab_size": 100}
config = transformers.GPT2Config(**sizes, initializer_range=0.3, bos_token_id=0, eos_token_id=0)
model = transformers.AutoModelForCausalLM.from_config(config, attn_implementation="attend").eval()
text = torch.tensor([[15, 49, 16, 60, 3, 15, 49, 12, 88, 16]])  # the ids of ten tokens

with torch.no_grad(), attend.torch.collect(top_k=3, received=True, entropy=True) as seen:
    model(input_ids=text)

for layer in seen:
    print(f"layer {layer.layer}: {layer.name}")
    keys, weights = layer.top_keys[0, :, -1], layer.top_weights[0, :, -1]  # of the last token, (heads, 3)
    for head, (some_keys, some_weights) in enumerate(zip(keys.tolist(), weights.tolist()), start=1):
        top = "  ".join(f"{key} ({weight:.3f})" for key, weight in zip(some_keys, some_weights))
        print(f"  head {head}: token 9 looks at {top}; entropy {layer.entropy[0, head - 1, -1]:.2f} nats")
    received = layer.received[0].mean(dim=0)  # over the heads
    print(f"  most looked at: token {received.argmax()}, by {received.max():.2f} of 10 tokens")
