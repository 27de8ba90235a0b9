import { AppError } from '../../platform/errors.ts'

/** Plain decimal digits, perhaps with places. The length bounds the work. */
export const DISPLAY_AMOUNT = '^[0-9]{1,78}(?:\\.[0-9]{1,255})?$'

const FORM = new RegExp(DISPLAY_AMOUNT)

/**
 * Base units of an amount in whole coins. Nothing is rounded. Pure.
 * @param input.end the first amount in base units that is too large
 * @throws invalid_input for more places than the token has, and for an amount that is too large
 */
export const parseDisplayAmount = (
  text: string,
  { field, decimals, end }: { readonly field: string; readonly decimals: number; readonly end: bigint },
): bigint => {
  const invalid = (rule: string): AppError => new AppError('invalid_input', `Field "${field}" must ${rule}.`)
  if (!FORM.test(text)) throw invalid('be an amount in plain decimal digits, such as "1.5"')
  const [whole = '', places = ''] = text.split('.')
  if (places.length > decimals) throw invalid(`have at most ${decimals} decimal places, as the token has`)
  const amount = BigInt(whole + places.padEnd(decimals, '0'))
  if (amount < end) return amount
  throw invalid(`be below 2^${end.toString(2).length - 1} in base units, of which a whole token has 10^${decimals}`)
}

/** As `parseDisplayAmount`, for an amount that moves: not zero. */
export const parseMovedAmount = (...asked: Parameters<typeof parseDisplayAmount>): bigint => {
  const amount = parseDisplayAmount(...asked)
  if (amount > 0n) return amount
  throw new AppError('invalid_input', `Field "${asked[1].field}" must be above zero.`)
}
