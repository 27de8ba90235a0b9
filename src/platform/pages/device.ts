// Names a device by its User-Agent. The caller chooses that text, so we show it but never rely on it.

/** The first match counts: browsers higher in the list also claim to be the later ones. */
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

/** The first product (RFC 9110 §10.1.5), short and without spaces, so that it holds no sentence for the reader. */
const PRODUCT = /^[A-Za-z0-9]{1,20}(?:\/[0-9.]{1,12})?/

/** @returns for instance "Firefox on Windows"; for an unknown program at most one word of its own. */
export const deviceName = (userAgent: string): string => {
  const [browser, system] = [firstIn(userAgent, BROWSERS), firstIn(userAgent, SYSTEMS)]
  if (system !== null) return `${browser ?? 'An unknown program'} on ${system}`
  const [product] = PRODUCT.exec(userAgent) ?? []
  return product === undefined ? 'A device that does not say what it is' : `An unknown device: ${product}`
}
