import { AppError } from '../errors.ts'
import { parseQuantity } from '../transactions/intent.ts'

const UINT256_END = 1n << 256n

/** JavaScript's own reading would turn the 31st of a short month into the first of the next. */
const isOnCalendar = (text: string): boolean => {
  const day = new Date(`${text.slice(0, 10)}T00:00:00Z`)
  return !Number.isNaN(day.getTime()) && day.toISOString().startsWith(text.slice(0, 10))
}

/** In UTC too: other years have no four digits, and PostgreSQL does not read JavaScript's six. */
const hasFourDigitYear = (at: Date): boolean => at.getUTCFullYear() >= 1 && at.getUTCFullYear() <= 9_999

const parseTime = (text: string): Date => {
  const at = new Date(text)
  if (!Number.isNaN(at.getTime()) && isOnCalendar(text) && hasFourDigitYear(at)) return at
  throw new AppError('invalid_input', 'Field "expires_at" must be an RFC 3339 time with an offset.')
}

type Agreed = {
  readonly expires_at?: string
  readonly max_total_value?: string
  readonly max_uses?: number
  readonly max_total_fee?: string
}

/** Until when, and how much, of the strings of a request; null where nothing limits it, or where the
 * limit is to be chosen here. @throws invalid_input. */
export const agreedIn = (body: Agreed) => ({
  expiresAt: body.expires_at === undefined ? null : parseTime(body.expires_at),
  maxTotalValue:
    body.max_total_value === undefined ? null : parseQuantity(body.max_total_value, 'max_total_value', UINT256_END),
  maxUses: body.max_uses ?? null,
  maxTotalFee:
    body.max_total_fee === undefined ? null : parseQuantity(body.max_total_fee, 'max_total_fee', UINT256_END),
})
