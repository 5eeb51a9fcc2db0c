"""Cardinal numbers from 1 to 9999 in words."""

_HAN = "零一二三四五六七八九"
_HAN_UNITS = ((1000, "千"), (100, "百"), (10, "十"))
# fmt: off
_ENGLISH = (
    "zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve",
    "thirteen", "fourteen", "fifteen", "sixteen", "seventeen", "eighteen", "nineteen",
)
_ENGLISH_TENS = ("", "", "twenty", "thirty", "forty", "fifty", "sixty", "seventy", "eighty", "ninety")
_GERMAN = (
    "null", "ein", "zwei", "drei", "vier", "fünf", "sechs", "sieben", "acht", "neun", "zehn", "elf", "zwölf",
    "dreizehn", "vierzehn", "fünfzehn", "sechzehn", "siebzehn", "achtzehn", "neunzehn",
)
_GERMAN_TENS = ("", "", "zwanzig", "dreißig", "vierzig", "fünfzig", "sechzig", "siebzig", "achtzig", "neunzig")
# fmt: on


def chinese(number: int) -> str:
    """Written out, with 零 for the gaps: 1005 is 一千零五, 15 is 十五."""
    words, gap = "", False
    rest = number
    for unit, name in _HAN_UNITS:
        digit, rest = divmod(rest, unit)
        if digit:
            words += ("零" if gap else "") + _HAN[digit] + name
            gap = False
        elif words:
            gap = True
    if rest:
        words += ("零" if gap else "") + _HAN[rest]
    return words[1:] if words.startswith("一十") else words


def japanese(number: int) -> str:
    """Written out: 1005 is 千五, 315 is 三百十五."""
    words, rest = "", number
    for unit, name in _HAN_UNITS:
        digit, rest = divmod(rest, unit)
        if digit:
            words += (_HAN[digit] if digit > 1 else "") + name
    return words + (_HAN[rest] if rest else "")


def english(number: int) -> str:
    """British: 325 is three hundred and twenty-five."""
    if number < 20:
        return _ENGLISH[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return _ENGLISH_TENS[tens] + (f"-{_ENGLISH[ones]}" if ones else "")
    unit, name = (1000, "thousand") if number >= 1000 else (100, "hundred")
    head, rest = divmod(number, unit)
    words = f"{english(head)} {name}"
    if not rest:
        return words
    return f"{words} {'and ' if rest < 100 else ''}{english(rest)}"


def german(number: int) -> str:
    """One word: 325 is dreihundertfünfundzwanzig. The ones are "ein", as before a noun."""
    if number < 20:
        return _GERMAN[number]
    if number < 100:
        tens, ones = divmod(number, 10)
        return (f"{_GERMAN[ones]}und" if ones else "") + _GERMAN_TENS[tens]
    unit, name = (1000, "tausend") if number >= 1000 else (100, "hundert")
    head, rest = divmod(number, unit)
    return german(head) + name + (german(rest) if rest else "")
