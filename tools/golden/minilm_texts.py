"""The 200 texts of tests/golden/minilm/texts.txt: sentences of our own in many scripts, put together to 2 to 256 tokens and beyond.

One text a line. The same on every machine: nothing but a seeded random.Random chooses.
"""

from random import Random

ENGLISH = """The bank raised its rates while the river kept rising behind it.
Every token looks at every other token and keeps what it needs.
My neighbour's dog barked at the bark of the old oak all morning.
She pitched the tent before dark; the pitch of the slope made it hard.
Nobody could say why the lights in the harbour went out at 3:47 a.m.
The committee met on Tuesday, disagreed politely, and met again on Thursday.
If the kettle is whistling, please turn it off before you answer the door.
A cheap microscope shows more than most people expect.
He mailed the parcel twice because the first label had washed off in the rain.
Temperatures fell to -12.5 °C, the lowest since measurements began in 1893.
The orchestra tuned to an A of 442 Hz and waited for the conductor's nod.
Our train was 38 minutes late, which, compared with last week, was early.
Is it possible to compute a softmax without ever holding the whole row?
Mrs. O'Leary-Smith paid $1,249.99 (incl. 19% tax) for a second-hand cello!
Grandfather repaired clocks; grandmother repaired grandfather.
Some birds sleep with one half of the brain while the other half keeps watch.
The recipe says two cups of flour, but nobody here owns a cup.
An honest benchmark names its compiler, its machine and its losers.""".splitlines()

CODE = """for (std::size_t i = 0; i < rows.size(); ++i) total += weights[i] * rows[i];
def softmax(x): m = max(x); e = [exp(v - m) for v in x]; s = sum(e); return [v / s for v in e]
SELECT name, COUNT(*) AS n FROM visits WHERE day >= '2024-02-29' GROUP BY name ORDER BY n DESC LIMIT 10;
git log --oneline --graph --since="2 weeks ago" | head -n 40
const halves = xs.map((x) => x / 2).filter(Number.isFinite);
if err != nil { return fmt.Errorf("open %q: %w", path, err) }
#include <vector> // template <class T> T* begin(std::vector<T>& v) { return v.data(); }
{"id": 17, "tags": ["a", "b"], "score": 0.8125, "next": null}
let mut seen: HashSet<&str> = HashSet::new(); seen.insert("x_42");
curl -sS -X POST https://example.org/api/v1/items?limit=50&offset=100 -d @body.json""".splitlines()

LATIN = """Où est passée la clé de l'église ? Elle était près du bénitier, à côté du cierge.
Die Straße nach Köln war überfüllt; wir fuhren über die Dörfer und kamen früher an.
El niño soñó que volaba sobre Logroño y despertó en el sofá.
Zażółć gęślą jaźń, powiedział nauczyciel i wszyscy się roześmiali.
Příliš hlučný kůň přeběhl přes náměstí a zmizel v mlze.
Tiếng Việt có nhiều dấu, và mỗi dấu đổi nghĩa của từ.
İstanbul'da yağmur başladığında çay içmek için iyi bir bahane vardı.
Smørrebrød på ø'en koster åtte kroner mere end i byen.
Îles, forêts, naïveté, cœur : autant de mots que l'on écrit sans y penser.
Ο σκύλος κοιμάται κάτω από την ελιά και ονειρεύεται γάτες.
Старый мост через реку закрыли весной, а новый так и не построили.""".splitlines()

ASIAN = """银行在河岸的另一边，我们走过桥去取钱。
今天的风很大，孩子们在公园里放风筝。
昨日は雨だったので、図書館で本を読んでいました。
東京タワーの近くに小さなラーメン屋があります。
오늘 아침에는 안개가 짙어서 다리가 보이지 않았다.
책상 위에 있는 사과는 누구의 것입니까?
注意机制让每个词看到其他所有的词。
カタカナとひらがなと漢字が一つの文に混ざっている。""".splitlines()

RIGHT_TO_LEFT = """البنك على الجانب الآخر من النهر، والجسر مغلق اليوم.
كل كلمة تنظر إلى الكلمات الأخرى لتعرف معناها.
הכלב נבח כל הלילה והשכנים לא ישנו.
התפוח נפל מהעץ, והילד אכל אותו בדרך הביתה.
امروز هوا سرد است و کتابخانه بسته است.""".splitlines()

EMOJI = """Great match today ⚽🎉 see you on Sunday 👋🏽
🍎🍏 which apple? 🤔
👩‍👩‍👧‍👦 family dinner at 7 🍝🍷 (bring 🍰!!!)
🚀🚀🚀 to the 🌙 … or not 😅
♥ ☂ ☃ ★ ✓ – plain old symbols, no colours""".splitlines()

SMALL = ["", "a", "bank", "Ω", "🙂", "水", "no", "42", "...", "don't", "naïve", "שלום", "I am.", "x = y", "fine, thanks", "the apple",
         "e\u0301a\u0300", "ﬁne ligature", "antidisestablishmentarianism", "a\tb",
         "\u200bhidden\u200d", "tokens [SEP] and [MASK] inside", "$€£¥", "ⅷ ½ ②"]

# How many texts of each kind, and from how many sentences they are made. Texts of 18 and more are cut at 256 tokens.
MIXTURE = [
    (ENGLISH, 24, (1, 2)), (ENGLISH, 26, (2, 5)), (ENGLISH, 18, (6, 12)), (ENGLISH, 14, (18, 26)),
    (CODE, 14, (1, 2)), (CODE, 8, (3, 10)), (LATIN, 14, (1, 2)), (LATIN, 8, (3, 10)),
    (ASIAN, 12, (1, 2)), (ASIAN, 6, (3, 12)), (RIGHT_TO_LEFT, 8, (1, 2)), (RIGHT_TO_LEFT, 3, (3, 8)), (EMOJI, 8, (1, 3)),
    (ENGLISH + CODE + LATIN + ASIAN + RIGHT_TO_LEFT + EMOJI, 13, (2, 20)),
]


def texts() -> list[str]:
    random = Random(6)
    made = list(SMALL)
    for sentences, count, (fewest, most) in MIXTURE:
        wanted = len(made) + count
        while len(made) < wanted:
            text = " ".join(random.choices(sentences, k=random.randint(fewest, most)))
            if text not in made:
                made.append(text)
    random.shuffle(made)
    assert len(made) == 200 and not any("\n" in text for text in made)
    return made
