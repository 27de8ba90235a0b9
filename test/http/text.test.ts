import { describe, expect, test } from 'bun:test'
import { AppError } from '../../src/platform/errors.ts'
import { hasVisibleLines, isVisible, readGiven, showHidden } from '../../src/platform/http/text.ts'
import { html, page } from '../../src/platform/pages/page.ts'

const character = (...codePoints: readonly number[]) => String.fromCodePoint(...codePoints)
const RIGHT_TO_LEFT_OVERRIDE = character(0x202e)

describe('a text that people see', () => {
  test.each([
    'Main wallet',
    'محفظة',
    'ארנק',
    'Zürich – “Straße”',
    'e\u0301 and a\u0323\u0302',
    '',
    // Persian, also behind a vowel sign; Urdu; Hindi; Marathi; Malayalam, in and at the end of a word.
    'می\u200cخواهم کتاب\u200cها، مَـنِ\u200cما',
    'خوش\u200cآمدید',
    'क्\u200dष और शक्\u200cति',
    'दर्\u200dया',
    'നന്\u200dമ അവന്\u200d',
    // Bengali, Kannada, Telugu, Sinhala.
    'র\u200d্যাব উদ্\u200cঘাটন',
    'ರ\u200d್ಕ ರಾಜ್\u200cಕುಮಾರ್',
    'సాఫ్ట్\u200cవేర్',
    'ශ්\u200dරී ලංකා',
    '👨\u200d👩\u200d👧 👩🏽\u200d🚀 🏳\ufe0f\u200d🌈 👁\ufe0f\u200d🗨\ufe0f 🧑🏻\u200d🤝\u200d🧑🏿 👨\u200d🦰 🐈\u200d⬛ 🙂\u200d↔\ufe0f',
    '❤\ufe0f and 1\ufe0f\u20e3 and 👍🏽 and ℹ\ufe0f and ☎\ufe0e',
  ])('may be %s', (text) => {
    expect(isVisible(text)).toBe(true)
    expect(showHidden(text)).toBe(text)
  })

  const hidden: readonly (readonly [string, readonly number[]])[] = [
    ['a control', [0x07]],
    ['an escape of terminals', [0x1b]],
    ['a soft hyphen', [0xad]],
    ['a mark of direction', [0x200e]],
    ['a mark of direction in Arabic', [0x61c]],
    ['an embedding', [0x202a]],
    ['an override', [0x202e]],
    ['an isolate', [0x2067]],
    ['a space without width', [0x200b]],
    ['a word joiner', [0x2060]],
    ['a byte order mark', [0xfeff]],
    ['a line separator', [0x2028]],
    ['a filler of Hangul', [0x3164]],
    ['a tag', [0xe0041]],
    ['a further variation selector', [0xe0100]],
    ['a selector behind a letter', [0xfe0f]],
  ]
  test.each(hidden)('has no %s', (_, codePoints) => {
    const text = `a${character(...codePoints)}b`
    expect([isVisible(text), hasVisibleLines(text)]).toEqual([false, false])
    expect(showHidden(text)).toBe(`a\\u{${codePoints[0]?.toString(16)}}b`)
  })

  test.each([
    ['Latin', 'a', 'b'],
    ['Latin with an accent', 'é', 'é'],
    ['Greek', 'α', 'β'],
    ['Cyrillic', 'а', 'б'],
    ['Hebrew', 'א', 'ב'],
    ['Han', '漢', '字'],
    ['Devanagari without a virama', 'क', 'ष'],
    ['Arabic and Latin', 'ب', 'a'],
    ['a symbol and a letter', '👩', 'a'],
    ['signs of money', '€', '¥'],
    ['digits', '1', '2'],
    ['nothing', '', ''],
  ])('has no joiner between %s', (_, before, after) => {
    for (const joiner of ['\u200c', '\u200d'])
      expect([joiner, isVisible(before + joiner + after)]).toEqual([joiner, false])
  })

  test.each([
    ['a joiner between Arabic letters', 'ب\u200dب'],
    ['a non-joiner between emoji', '👩\u200c🚀'],
    ['a non-joiner at the end of a word', 'क्\u200c'],
    ['two joiners', 'क्\u200d\u200dष'],
    ['two non-joiners', 'می\u200c\u200cخواهم'],
    ['a joiner at the end of an emoji', '👩\u200d'],
    ['a selector behind a digit', '1\ufe0f'],
  ])('has no %s', (_, text) => {
    expect(isVisible(text)).toBe(false)
  })

  test('has line breaks only where it may have several lines', () => {
    expect([isVisible('a\nb'), hasVisibleLines('a\r\n\tb')]).toEqual([false, true])
    expect(showHidden('a\n\tb')).toBe('a\n\tb')
  })

  test('is what an operator may give as a name', () => {
    expect(readGiven('name', ' Shop ')).toBe('Shop')
    for (const text of ['', ' ', 'x'.repeat(257), `Shop${RIGHT_TO_LEFT_OVERRIDE}`]) {
      expect(() => readGiven('name', text)).toThrow(AppError)
    }
  })
})

test('a page shows the hidden characters of its texts by their numbers, and keeps attributes as they are', () => {
  const name = `Main <b>${RIGHT_TO_LEFT_OVERRIDE}tellaw</b>`
  const shown = page({ title: name, body: html`<p title="${name}">${name}</p>` })
  const escaped = 'Main &lt;b&gt;\\u{202e}tellaw&lt;/b&gt;'
  expect(shown).toContain(`<title>${escaped}</title>`)
  expect(shown).toContain(`<p title="${escaped.replace('\\u{202e}', RIGHT_TO_LEFT_OVERRIDE)}">${escaped}</p>`)
})
