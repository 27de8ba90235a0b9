// The rules for new developer secrets and new PINs; older ones go on opening their wallets.
//
// On testnet the developer secret is a published constant, so that anyone can try the service. On mainnet each
// developer chooses one, and the database has only what is sealed under it.
//
// A PIN that is easy to guess is refused, as the guess limit allows five tries in a row and a hundred in all:
//   - Six-digit PINs of people give 7.2 bits against online guessing, not 20 (Wang, Gu, Huang, Wang: "Understanding
//     Human-Chosen PINs", ASIACCS 2017). Which ten everybody tries first: Markert, Bailey, Golla, Dürmuth, Aviv, "This
//     PIN Can Be Easily Guessed", IEEE S&P 2020.
//   - A thief who knows the date of birth opens one of 11 to 18 stolen wallets (Bonneau, Preibusch, Anderson: "A
//     birthday present every eleven wallets?", FC 2012). The vault knows no owner's birthday, so it refuses every date.
//
// The rules and the list refuse 93,509 of the million PINs; 84,232 of them are dates. Of the 740 six-digit texts among
// the 49,233 commonest passwords in @zxcvbn-ts/language-common 4.1.3, they refuse the first 100 and 454 in all.

import { isUtf8 } from 'node:buffer'
import type { Environment } from '../../../../db/words.ts'
import { AppError, unreachable } from '../../../platform/errors.ts'
import { type SecretText, utf8Of } from '../../../platform/sealing/bytes.ts'
import { TESTNET_DEVELOPER_SECRET } from '../../contract/contract.ts'

const TESTNET_BYTES = Buffer.from(TESTNET_DEVELOPER_SECRET)

const MAINNET_CHARACTERS_MIN = 16
const CHARACTERS_MAX = 256

/** The length of UTF-8 bytes as UTF-16 counts it: characters beyond U+FFFF count as two. */
const lengthOf = (bytes: Uint8Array): number =>
  bytes.reduce((length, byte) => length + (byte >= 0xf0 ? 2 : (byte & 0xc0) === 0x80 ? 0 : 1), 0)

const isText = (secret: SecretText): boolean => (typeof secret === 'string' ? secret.isWellFormed() : isUtf8(secret))

/** No person can type these: U+0000 to U+001F, and U+007F to U+009F. */
const hasControlCharacter = (bytes: Uint8Array): boolean =>
  bytes.some((byte, at) => byte < 0x20 || byte === 0x7f || (byte < 0xa0 && byte >= 0x80 && bytes[at - 1] === 0xc2))

const refuse = (sentence: string): never => {
  throw new AppError('invalid_input', sentence)
}

/** @throws invalid_input for a secret that the environment refuses. The sentence contains nothing of the secret. */
export const requireDeveloperSecret = (environment: Environment, secret: SecretText): void => {
  const bytes = utf8Of(secret)
  switch (environment) {
    case 'testnet':
      if (!TESTNET_BYTES.equals(bytes)) refuse(`On testnet the developer secret is "${TESTNET_DEVELOPER_SECRET}".`)
      return
    case 'mainnet':
      if (bytes.includes(TESTNET_BYTES)) refuse('On mainnet the secret of testnet is refused, with more around it too.')
      if (lengthOf(bytes) < MAINNET_CHARACTERS_MIN || lengthOf(bytes) > CHARACTERS_MAX) {
        refuse(
          `On mainnet the developer secret must have from ${MAINNET_CHARACTERS_MIN} to ${CHARACTERS_MAX} characters.`,
        )
      }
      if (hasControlCharacter(bytes) || !isText(secret)) {
        refuse('The developer secret must be well-formed text without control characters.')
      }
      return
    default:
      unreachable(environment)
  }
}

const DAYS_OF_MONTH = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]
const YEAR_MIN = 1900
const YEAR_MAX = 2099

/** The PINs among the hundred commonest that no rule covers. */
const COMMONEST = new Set(
  '123465 124578 128500 134679 135790 141627 159357 159632 159753 235689 246810 314159 315475 362436 420247 655321 751953 753159 753951 784512 787898 794613 906090 951753'
    .split(' ')
    .map(Number),
)

const isDay = (day: number, month: number): boolean => day >= 1 && day <= (DAYS_OF_MONTH[month - 1] ?? 0)

const isMonthOf = (year: number, month: number): boolean =>
  year >= YEAR_MIN && year <= YEAR_MAX && month >= 1 && month <= 12

/** Whether all steps from one value to the next are equal, modulo `modulus`. */
const isStepped = (values: readonly number[], modulus: number): boolean =>
  values.every((value, at) => at < 2 || (value - 2 * (values[at - 1] ?? 0) + (values[at - 2] ?? 0)) % modulus === 0)

const isRun = (digits: readonly number[], stepMax: number): boolean =>
  isStepped(digits, 100) && Math.abs((digits[1] ?? 0) - (digits[0] ?? 0)) <= stepMax

const PAIR_STEPS = new Set([1, 9, 10, 11])

const RULES: readonly ((digits: readonly number[], pairs: readonly [number, number, number]) => boolean)[] = [
  // 000000, 121212, 111222, 000007: at most two digits.
  (digits) => new Set(digits).size <= 2,
  // 123123, 007007.
  (digits) => [0, 1, 2].every((at) => digits[at] === digits[at + 3]),
  // 123321.
  (digits) => digits.every((digit, at) => digit === digits[5 - at]),
  // 112233.
  (digits) => [0, 2, 4].every((at) => digits[at] === digits[at + 1]),
  // 123456, 975319: by one step all along, 9 followed by 0.
  (digits) => isStepped(digits, 10),
  // 12345 within 123459, 98765 within 098765; what stands still has two digits at most.
  (digits) => isRun(digits.slice(0, 5), 1) || isRun(digits.slice(1), 1),
  // 123654, 147258, 963852: three keys in a line, twice.
  (digits) => isRun(digits.slice(0, 3), 3) && isRun(digits.slice(3), 3),
  (_, [first, second, third]) => second - first === third - second && PAIR_STEPS.has(Math.abs(second - first)),
  // DDMMYY, MMDDYY, YYMMDD; of any year, as two digits name one in each century.
  (_, [first, second, third]) => isDay(first, second) || isDay(second, first) || isDay(third, second),
  // YYYYMM, MMYYYY.
  (_, [first, second, third]) => isMonthOf(first * 100 + second, third) || isMonthOf(second * 100 + third, first),
  (_, [first, second, third]) => COMMONEST.has((first * 100 + second) * 100 + third),
]

/** @param pin six digits. Pure. */
export const isObviousPin = (pin: SecretText): boolean => {
  const digits = Array.from(utf8Of(pin), (byte) => byte - 0x30)
  const [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0] = digits
  const pairs = [a * 10 + b, c * 10 + d, e * 10 + f] as const
  return RULES.some((rule) => rule(digits, pairs))
}

/** Call it before anything is opened or charged. */
export const refuseObviousPin = (input: {
  readonly pin: SecretText
  readonly field: 'user_pin' | 'new_user_pin'
}): void => {
  if (!isObviousPin(input.pin)) return
  throw new AppError(
    'pin_obvious',
    `Field "${input.field}" must be a PIN that is hard to guess: no repetition, no run or pattern of digits, no date, and none that many people choose. Best is one by chance.`,
  )
}
