// Why a collection does not mint for a wallet. The error code says what would help: a permission, a payment, or nothing.

import { AppError, type ErrorCode } from '../../platform/errors.ts'
import { isKnown, type Pattern } from './node-errors.ts'
import { informativeness } from './reverts.ts'

const UNAUTHORIZED: readonly Pattern[] = [
  [
    /^(?:Ownable|AccessControl|AccessManager|Permissions)Unauthorized\w*\(|^AccessManagedUnauthorized\(/,
    'OpenZeppelin Contracts 5; thirdweb, Permissions',
  ],
  [/caller is not the owner/i, 'OpenZeppelin Contracts 4, Ownable'],
  [/account 0x[0-9a-f]{40} is missing role/i, 'OpenZeppelin Contracts 4, AccessControl; thirdweb'],
  [/must have minter role/i, 'OpenZeppelin Contracts 4, ERC721PresetMinterPauserAutoId'],
  [/does not have the minter role/i, 'OpenZeppelin Contracts 2, MinterRole'],
  [/^not authorized/i, 'thirdweb, ERC721Base and ERC1155Base ("Not authorized to mint.")'],
  [/^!(?:MINTER|OWNER|ADMIN|AUTH)/i, 'thirdweb, before its Permissions'],
  [/^Unauthorized\(\)$|^UNAUTHORIZED$/, 'solady Ownable; solmate Owned and Auth'],
  [
    /^(?:\w*(?:Un|Not)Authorized\w*|(?:\w*Not|Only)(?:The)?(?:Contract)?(?:Owner|Minter|Admin)(?:CanMint)?)\(/i,
    'custom errors by their usual names',
  ],
  [/\b(?:only|not)(?: an?| the)?(?: contract)? (?:owner|minter|admin|operator)\b/i, 'texts by their usual words'],
]

const COIN = '(?:eth|ether|matic|pol|avax|payment|price|funds|msg\\.value|value sent|ether value|mint fee)'
const LACKS = '(?:insufficient|not enough|too little|incorrect|wrong|invalid|need|must (?:pay|send)|send more)'

const REQUIRES_VALUE: readonly Pattern[] = [
  [
    /^\w*(?:Insufficient|Incorrect|Invalid|Wrong|NotEnough|Missing)\w*(?:Payment|Price|Ether|Eth|Value|Funds|Fee)\w*\(/,
    'custom errors by their usual names',
  ],
  [new RegExp(`\\b${LACKS}\\b.*\\b${COIN}\\b`, 'i'), 'texts by their usual words'],
  [
    new RegExp(`\\b${COIN}\\b.*(?:\\b${LACKS}\\b|not correct|too low|below)`, 'i'),
    'texts by their usual words ("Ether value sent is not correct")',
  ],
]

const REVERTED = 'execution reverted: '

const findMatching = (failures: readonly string[], patterns: readonly Pattern[]): string | undefined =>
  failures.find((failure) => failure.startsWith(REVERTED) && isKnown(patterns, failure.slice(REVERTED.length)))

const refusal = (code: ErrorCode, sentence: string, reason: string | undefined): AppError =>
  new AppError(code, `${sentence}${reason === undefined ? '' : `: ${reason.replace(/\.+$/, '')}`}.`)

const NEEDS_VALUE = 'Minting from contract_address needs a payment, which only a transaction of your own can carry'

/**
 * The error for a wallet for which every known mint function failed. Pure.
 * @param failures the error texts of these functions.
 * @param paid a function that succeeds with a payment, and its error text without one.
 */
export const mintRefusal = (
  failures: readonly string[],
  paid: { readonly signature: string; readonly failure: string | null } | null,
): AppError => {
  if (paid !== null) {
    return refusal('mint_requires_value', `${NEEDS_VALUE}, by ${paid.signature}`, paid.failure ?? undefined)
  }
  const unauthorized = findMatching(failures, UNAUTHORIZED)
  if (unauthorized !== undefined) {
    return refusal('mint_unauthorized', 'This wallet may not mint from contract_address', unauthorized)
  }
  const unpaid = findMatching(failures, REQUIRES_VALUE)
  if (unpaid !== undefined) return refusal('mint_requires_value', NEEDS_VALUE, unpaid)
  const best = failures.toSorted((one, other) => informativeness(other) - informativeness(one))[0]
  const reason = best !== undefined && informativeness(best) >= 2 ? best : undefined
  return refusal('mint_unsupported', 'This wallet cannot mint from contract_address', reason)
}
