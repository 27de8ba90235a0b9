/** Base units as the exact amount in plain decimal digits, without trailing zeros. Pure. */
export const displayAmount = (raw: bigint, decimals: number): string => {
  if (raw < 0n || !Number.isInteger(decimals) || decimals < 0) {
    throw new Error('expected an amount and decimals that are not negative')
  }
  const digits = raw.toString().padStart(decimals + 1, '0')
  const whole = digits.slice(0, digits.length - decimals)
  const fraction = digits.slice(digits.length - decimals).replace(/0+$/, '')
  return fraction === '' ? whole : `${whole}.${fraction}`
}

const GWEI_DECIMALS = 9

/** Wei as the exact amount in gwei. Pure. */
export const displayGwei = (wei: bigint): string => `${displayAmount(wei, GWEI_DECIMALS)} gwei`

export const lower = <Amount extends number | bigint>(one: Amount, other: Amount): Amount => (one < other ? one : other)
export const higher = <Amount extends number | bigint>(one: Amount, other: Amount): Amount =>
  one > other ? one : other
