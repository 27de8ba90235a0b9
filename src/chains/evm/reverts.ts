// Why an execution failed, in words: Error(string), Panic(uint256), the custom errors that we know, else their selector.

import { type AbiParameter, decodeAbiParameters, parseAbiItem, toFunctionSelector } from 'viem'
import type { Hex } from '../chain.ts'
import { isNoFunds, isRevert, revertData } from './nodeErrors.ts'
import type { RpcError } from './rpc.ts'
import { cleanText } from './text.ts'

/** A contract can return a reason of any length. */
export const REASON_LIMIT = 300

/** Known by their declarations: OpenZeppelin Contracts 5 (ERC-6093 and its own), ERC721A, Solady's Ownable. */
const KNOWN_ERRORS: readonly string[] = [
  'error ERC20InsufficientBalance(address sender, uint256 balance, uint256 needed)',
  'error ERC20InvalidSender(address sender)',
  'error ERC20InvalidReceiver(address receiver)',
  'error ERC20InsufficientAllowance(address spender, uint256 allowance, uint256 needed)',
  'error ERC20InvalidApprover(address approver)',
  'error ERC20InvalidSpender(address spender)',
  'error ERC20InvalidDecimals(uint8 decimals)',
  'error ERC20ExceededCap(uint256 increasedSupply, uint256 cap)',
  'error ERC20InvalidCap(uint256 cap)',
  'error ERC721InvalidOwner(address owner)',
  'error ERC721NonexistentToken(uint256 tokenId)',
  'error ERC721IncorrectOwner(address sender, uint256 tokenId, address owner)',
  'error ERC721InvalidSender(address sender)',
  'error ERC721InvalidReceiver(address receiver)',
  'error ERC721InsufficientApproval(address operator, uint256 tokenId)',
  'error ERC721InvalidApprover(address approver)',
  'error ERC721InvalidOperator(address operator)',
  'error ERC721OutOfBoundsIndex(address owner, uint256 index)',
  'error ERC721EnumerableForbiddenBatchMint()',
  'error ERC1155InsufficientBalance(address sender, uint256 balance, uint256 needed, uint256 tokenId)',
  'error ERC1155InvalidSender(address sender)',
  'error ERC1155InvalidReceiver(address receiver)',
  'error ERC1155MissingApprovalForAll(address operator, address owner)',
  'error ERC1155InvalidApprover(address approver)',
  'error ERC1155InvalidOperator(address operator)',
  'error ERC1155InvalidArrayLength(uint256 idsLength, uint256 valuesLength)',
  'error OwnableUnauthorizedAccount(address account)',
  'error OwnableInvalidOwner(address owner)',
  'error AccessControlUnauthorizedAccount(address account, bytes32 neededRole)',
  'error AccessControlBadConfirmation()',
  'error EnforcedPause()',
  'error ExpectedPause()',
  'error ReentrancyGuardReentrantCall()',
  'error InvalidInitialization()',
  'error NotInitializing()',
  'error FailedCall()',
  'error InsufficientBalance(uint256 balance, uint256 needed)',
  'error AddressEmptyCode(address target)',
  'error SafeERC20FailedOperation(address token)',
  'error InvalidAccountNonce(address account, uint256 currentNonce)',
  'error ERC2612ExpiredSignature(uint256 deadline)',
  'error ERC2612InvalidSigner(address signer, address owner)',
  'error ERC2981InvalidDefaultRoyalty(uint256 numerator, uint256 denominator)',
  'error ERC2981InvalidDefaultRoyaltyReceiver(address receiver)',
  'error ERC4626ExceededMaxDeposit(address receiver, uint256 assets, uint256 max)',
  'error ERC4626ExceededMaxMint(address receiver, uint256 shares, uint256 max)',
  'error ERC4626ExceededMaxWithdraw(address owner, uint256 assets, uint256 max)',
  'error ERC4626ExceededMaxRedeem(address owner, uint256 shares, uint256 max)',
  'error ECDSAInvalidSignature()',
  'error ECDSAInvalidSignatureLength(uint256 length)',
  'error ECDSAInvalidSignatureS(bytes32 s)',
  'error SafeCastOverflowedUintDowncast(uint8 bits, uint256 value)',
  'error StringsInsufficientHexLength(uint256 value, uint256 length)',
  'error ApprovalCallerNotOwnerNorApproved()',
  'error ApprovalQueryForNonexistentToken()',
  'error BalanceQueryForZeroAddress()',
  'error MintToZeroAddress()',
  'error MintZeroQuantity()',
  'error OwnerQueryForNonexistentToken()',
  'error TransferCallerNotOwnerNorApproved()',
  'error TransferFromIncorrectOwner()',
  'error TransferToNonERC721ReceiverImplementer()',
  'error TransferToZeroAddress()',
  'error URIQueryForNonexistentToken()',
  'error Unauthorized()',
]

type KnownError = { readonly name: string; readonly inputs: readonly AbiParameter[] }

const declared = (declaration: string): readonly [Hex, KnownError] => {
  const item = parseAbiItem(declaration)
  if (item.type !== 'error') throw new Error(`expected the declaration of an error: ${declaration}`)
  const types = item.inputs.map(({ type }) => type).join(',')
  return [toFunctionSelector(`function ${item.name}(${types})`), item]
}

const ERRORS_BY_SELECTOR: ReadonlyMap<string, KnownError> = new Map(KNOWN_ERRORS.map(declared))

/** Solidity documentation, "Panic via assert and Error via require". */
const PANICS: ReadonlyMap<bigint, string> = new Map([
  [0x00n, 'unspecified panic'],
  [0x01n, 'assertion failed'],
  [0x11n, 'arithmetic overflow or underflow'],
  [0x12n, 'division or modulo by zero'],
  [0x21n, 'conversion to an enum value that does not exist'],
  [0x22n, 'storage byte array encoded incorrectly'],
  [0x31n, 'pop on an empty array'],
  [0x32n, 'array index out of bounds'],
  [0x41n, 'too much memory allocated'],
  [0x51n, 'call of a function variable that was never set'],
])

const ERROR_STRING_SELECTOR = '0x08c379a0'
const PANIC_SELECTOR = '0x4e487b71'

const decodeParameters = (inputs: readonly AbiParameter[], data: Hex): readonly unknown[] | null => {
  if (inputs.length === 0) return []
  try {
    return decodeAbiParameters(inputs, `0x${data.slice(10)}`)
  } catch {
    return null
  }
}

/** What a revert returned, in words, on one line, bounded. Pure. */
export const revertReason = (data: Hex): string => {
  if (data.length < 10) return 'no reason given'
  const selector = data.slice(0, 10).toLowerCase()
  if (selector === ERROR_STRING_SELECTOR) {
    const text = decodeParameters([{ type: 'string' }], data)?.[0]
    if (typeof text !== 'string') return 'a reason that cannot be read'
    return cleanText(text, REASON_LIMIT) || 'an empty reason'
  }
  if (selector === PANIC_SELECTOR) {
    const code = decodeParameters([{ type: 'uint256' }], data)?.[0]
    if (typeof code !== 'bigint') return 'a panic that cannot be read'
    return `panic: ${PANICS.get(code) ?? 'unknown panic'} (0x${code.toString(16).padStart(2, '0')})`
  }
  const known = ERRORS_BY_SELECTOR.get(selector)
  const values = known === undefined ? null : decodeParameters(known.inputs, data)
  if (known === undefined || values === null) return `custom error ${selector}`
  return cleanText(`${known.name}(${values.map(String).join(', ')})`, REASON_LIMIT)
}

/** A halt in the node's words, which are about the virtual machine and hold nothing of the caller's. */
const haltReason = (message: string): string => {
  const words = cleanText(message, REASON_LIMIT).replace(/^EVM error /, '')
  return words === '' || words === 'execution failed' ? 'out of gas or an invalid instruction' : words
}

/** One sentence for what nodes say in many ways. */
export const NO_FUNDS_REASON = 'insufficient funds for transfer'

/** The sentence of an execution that failed at the node: `execution reverted: …` for a revert. Pure. */
export const failureOf = (error: RpcError): string => {
  if (isNoFunds(error)) return NO_FUNDS_REASON
  if (!isRevert(error)) return `execution failed: ${haltReason(error.message)}`
  const data = revertData(error)
  if (data !== null && data !== '0x') return `execution reverted: ${revertReason(data)}`
  const said = cleanText(error.message.replace(/^.*?execution reverted:?/i, ''), REASON_LIMIT)
  return `execution reverted: ${said || 'no reason given'}`
}

/**
 * The same for one call within a simulation. anvil says `execution failed` to everything; what then tells a revert without
 * a reason from another end is that a revert gives its remaining gas back. Pure.
 */
export const simulatedFailure = (end: {
  readonly message: string
  readonly data: Hex
  readonly keptGas: boolean
}): string => {
  const reverted =
    end.data !== '0x' || /revert/i.test(end.message) || (end.message === 'execution failed' && end.keptGas)
  if (!reverted) return `execution failed: ${haltReason(end.message)}`
  return `execution reverted: ${revertReason(end.data)}`
}

/** How telling a failure is, for choosing among several: a custom error or text says more than a panic or silence. */
export const tellingness = (failure: string): number => {
  if (!failure.startsWith('execution reverted: ')) return 0
  if (/: (?:no reason given|an empty reason|.* cannot be read)$/.test(failure)) return 1
  if (failure.includes(': panic: ')) return 2
  return failure.includes(': custom error ') ? 3 : 4
}
