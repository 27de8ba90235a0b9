// From a User-Agent to what people call a device. It is said by whoever asks, so it is shown and never relied on.

/** The first that is found: later ones are claimed by earlier ones, too. */
const BROWSERS = [
  ['Edg', 'Edge'],
  ['OPR', 'Opera'],
  ['SamsungBrowser', 'Samsung Internet'],
  ['Firefox', 'Firefox'],
  ['FxiOS', 'Firefox'],
  ['CriOS', 'Chrome'],
  ['Chrome', 'Chrome'],
  ['Safari', 'Safari'],
] as const

const SYSTEMS = [
  ['iPhone', 'an iPhone'],
  ['iPad', 'an iPad'],
  ['Android', 'Android'],
  ['Windows', 'Windows'],
  ['Mac OS X', 'a Mac'],
  ['CrOS', 'ChromeOS'],
  ['Linux', 'Linux'],
] as const

const firstIn = (text: string, words: readonly (readonly [string, string])[]): string | null =>
  words.find(([word]) => text.includes(word))?.[1] ?? null

/** @returns for instance "Firefox on Windows"; the text itself where it is of no browser that is known here. */
export const deviceName = (userAgent: string): string => {
  const [browser, system] = [firstIn(userAgent, BROWSERS), firstIn(userAgent, SYSTEMS)]
  if (browser !== null && system !== null) return `${browser} on ${system}`
  return userAgent === '' ? 'A device that does not say what it is' : userAgent
}
