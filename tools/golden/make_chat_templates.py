"""Chat templates and what jinja2 makes of them, in the environment that transformers renders them in.

    python tools/golden/make_chat_templates.py                      tests/golden/chat/cases.jsonl
    python tools/golden/make_chat_templates.py --folder DIR -o FILE  the same of the *.jinja files of a folder

A line is {"name", "template", "context", "expected"}; without "expected" jinja2 raised an exception, and a template or context that
is left out is that of the line before. The second form is for templates that are not ours to keep:
ATTEND_CHAT_CASES=FILE build/release/tests/chat/attend_chat_test --gtest_also_run_disabled_tests --gtest_filter='*Folder*'
The templates here are written for this purpose, after the shapes that models' templates have. Needs jinja2 and transformers.
"""

import argparse
import json
import random
from datetime import datetime
from pathlib import Path

from transformers.utils import chat_template_utils

from chat_snippets import SNIPPETS, VALUES
from chat_styles import STYLES

NOW = datetime(2026, 3, 9, 8, 5, 7)


class FixedDate(datetime):
    @classmethod
    def now(cls, tz=None):
        return NOW


chat_template_utils.datetime = FixedDate


def rendered(template, context):
    compiled = chat_template_utils._compile_jinja_template(template)
    return compiled.render(**context)


def case(name, template, context):
    line = {"name": name, "template": template, "context": context}
    try:
        line["expected"] = rendered(template, context)
    except Exception:  # of any kind: a template that fails must fail here too
        pass
    return line


WORDS = ["Hello", "what is 2 + 2?", "  spaces  ", "line\nbreak\n", "<|im_end|>", "ünï¢ödé 😀", "", "</think>\n\nso", "<think>\nhm</think>yes",
         "'quotes' \"both\"", "a\\b", "[INST] x [/INST]", "{{ braces }} {% if %}", "tab\tend", "x" * 70, "\u00a0nbsp\u2003"]
TOOL = {"type": "function", "function": {"name": "weather", "description": "Tells the <weather> & more.", "parameters": {
    "type": "object", "properties": {"city": {"type": "string", "description": "a city"}, "days": {"type": "integer", "default": 3}},
    "required": ["city"]}}}


def conversation(rng, tools=False, parts=False):
    messages = []
    if rng.random() < 0.5:
        messages.append({"role": "system", "content": rng.choice(WORDS)})
    for turn in range(rng.randint(0, 3)):
        messages.append({"role": "user", "content": rng.choice(WORDS)})
        answer = {"role": "assistant", "content": rng.choice(WORDS)}
        if tools and rng.random() < 0.6:
            answer = {"role": "assistant", "content": None if rng.random() < 0.5 else "", "tool_calls": [
                {"id": "call0123" + str(turn), "type": "function", "function": {"name": "weather", "arguments": {"city": "Bern", "days": turn, "f": 1.5}}}]}
            messages.append(answer)
            messages.append({"role": "tool", "name": "weather", "tool_call_id": "call0123" + str(turn), "content": "sunny\n"})
            answer = {"role": "assistant", "content": "fine"}
        if rng.random() < 0.3:
            answer["reasoning_content"] = "because"
        messages.append(answer)
    if rng.random() < 0.8:
        messages.append({"role": "user", "content": rng.choice(WORDS)})
    if rng.random() < 0.05 and messages:
        messages.append(dict(messages[-1]))
    if parts:
        for message in messages:
            if isinstance(message["content"], str) and rng.random() < 0.5:
                message["content"] = [{"type": "text", "text": message["content"]}]
    return messages


def context(rng, **kinds):
    made = {"messages": conversation(rng, **kinds), "add_generation_prompt": rng.random() < 0.7, "bos_token": "<s>", "eos_token": "</s>",
            "tools": [TOOL] * rng.randint(1, 2) if kinds.get("tools") else None, "documents": None}
    if rng.random() < 0.3:
        made["enable_thinking"] = rng.random() < 0.5
    return made


def contexts(rng, count):
    kinds = [{}, {}, {"tools": True}, {"parts": True}]
    return [context(rng, **kinds[i % len(kinds)]) for i in range(count)]


def own_cases(rng):
    for name, template in STYLES.items():
        for number, data in enumerate(contexts(rng, 12)):
            yield case(f"{name} {number}", template, data)
    for number, snippet in enumerate(SNIPPETS):
        yield case(f"snippet {number}", snippet, VALUES)


def folder_cases(rng, folder):
    for path in sorted(Path(folder).glob("*.jinja")):
        for number, data in enumerate(contexts(rng, 40)):
            yield case(f"{path.name} {number}", path.read_text(), data)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder")
    parser.add_argument("-o", "--output", default=Path(__file__).resolve().parents[2] / "tests/golden/chat/cases.jsonl", type=Path)
    arguments = parser.parse_args()
    rng = random.Random(5)
    cases = list(folder_cases(rng, arguments.folder) if arguments.folder else own_cases(rng))
    arguments.output.parent.mkdir(parents=True, exist_ok=True)
    with open(arguments.output, "w") as file:
        before = {}
        for line in cases:
            for key in ("template", "context"):
                if line[key] == before.get(key):
                    del line[key]
                else:
                    before[key] = line[key]
            file.write(json.dumps(line, ensure_ascii=False) + "\n")
    print(f"{len(cases)} cases, {sum('expected' not in line for line in cases)} of them failures")


if __name__ == "__main__":
    main()
