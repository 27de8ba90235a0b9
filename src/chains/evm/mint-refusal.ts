// Why a collection mints nothing for a wallet, so that callers can tell what would help: a permission, a payment, or nothing.

import { AppError, type ErrorCode } from '../../errors.ts'
import type { Pattern } from './node-errors.ts'
import { informativeness } from './reverts.ts'

const UNAUTHORIZED: readonly Pattern[] = [
  {
    pattern: /^(?:Ownable|AccessControl|AccessManager|Permissions)Unauthorized\w*\(|^AccessManagedUnauthorized\(/,
    source: 'OpenZeppelin Contracts 5; thirdweb, Permissions',
  },
  { pattern: /caller is not the owner/i, source: 'OpenZeppelin Contracts 4, Ownable' },
  { pattern: /account 0x[0-9a-f]{40} is missing role/i, source: 'OpenZeppelin Contracts 4, AccessControl; thirdweb' },
  { pattern: /must have minter role/i, source: 'OpenZeppelin Contracts 4, ERC721PresetMinterPauserAutoId' },
  { pattern: /does not have the minter role/i, source: 'OpenZeppelin Contracts 2, MinterRole' },
  { pattern: /^not authorized/i, source: 'thirdweb, ERC721Base and ERC1155Base ("Not authorized to mint.")' },
  { pattern: /^!(?:MINTER|OWNER|ADMIN|AUTH)/i, source: 'thirdweb, before its Permissions' },
  { pattern: /^Unauthorized\(\)$|^UNAUTHORIZED$/, source: 'solady Ownable; solmate Owned and Auth' },
  {
    pattern:
      /^(?:\w*(?:Un|Not)Authorized\w*|(?:\w*Not|Only)(?:The)?(?:Contract)?(?:Owner|Minter|Admin)(?:CanMint)?)\(/i,
    source: 'custom errors by their usual names',
  },
  {
    pattern: /\b(?:only|not)(?: an?| the)?(?: contract)? (?:owner|minter|admin|operator)\b/i,
    source: 'texts by their usual words',
  },
]

const COIN = '(?:eth|ether|matic|pol|avax|payment|price|funds|msg\\.value|value sent|ether value|mint fee)'
const LACKS = '(?:insufficient|not enough|too little|incorrect|wrong|invalid|need|must (?:pay|send)|send more)'

const REQUIRES_VALUE: readonly Pattern[] = [
  {
    pattern:
      /^\w*(?:Insufficient|Incorrect|Invalid|Wrong|NotEnough|Missing)\w*(?:Payment|Price|Ether|Eth|Value|Funds|Fee)\w*\(/,
    source: 'custom errors by their usual names',
  },
  { pattern: new RegExp(`\\b${LACKS}\\b.*\\b${COIN}\\b`, 'i'), source: 'texts by their usual words' },
  {
    pattern: new RegExp(`\\b${COIN}\\b.*(?:\\b${LACKS}\\b|not correct|too low|below)`, 'i'),
    source: 'texts by their usual words ("Ether value sent is not correct")',
  },
]

const REVERTED = 'execution reverted: '

const findSaid = (failures: readonly string[], patterns: readonly Pattern[]): string | undefined =>
  failures.find(
    (failure) =>
      failure.startsWith(REVERTED) && patterns.some(({ pattern }) => pattern.test(failure.slice(REVERTED.length))),
  )

const refusal = (code: ErrorCode, sentence: string, reason: string | undefined): AppError =>
  new AppError(code, `${sentence}${reason === undefined ? '' : `: ${reason.replace(/\.+$/, '')}`}.`)

const NEEDS_VALUE = 'Minting from contract_address needs a payment, which only a transaction of your own can carry'

/**
 * What to tell a wallet for which every known function failed. Pure.
 * @param failures the sentences of what failed.
 * @param paid the signature of a function that mints where it is paid, and how it failed without.
 */
export const mintRefusal = (
  failures: readonly string[],
  paid: { readonly signature: string; readonly failure: string | null } | null,
): AppError => {
  if (paid !== null) {
    return refusal('mint_requires_value', `${NEEDS_VALUE}, by ${paid.signature}`, paid.failure ?? undefined)
  }
  const unauthorized = findSaid(failures, UNAUTHORIZED)
  if (unauthorized !== undefined) {
    return refusal('mint_unauthorized', 'This wallet may not mint from contract_address', unauthorized)
  }
  const unpaid = findSaid(failures, REQUIRES_VALUE)
  if (unpaid !== undefined) return refusal('mint_requires_value', NEEDS_VALUE, unpaid)
  const told = failures.toSorted((one, other) => informativeness(other) - informativeness(one))[0]
  const isTelling = told !== undefined && informativeness(told) >= 2
  return refusal('mint_unsupported', 'This wallet cannot mint from contract_address', isTelling ? told : undefined)
}
