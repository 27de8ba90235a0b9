// The contract wallet of a key, as far as policies need it: its address, and the calls that a transaction makes it do.
// It is a Safe 1.4.1 with this key as its only owner. The vault imports no chain, so a test compares the addresses and
// settings with src/chains/evm/safe/settings.ts.
//
// The Safe obeys the key in two ways: as the sender of `execTransaction`, and by a signature over its typed data,
// `SafeTx`. This code refuses what has another form, pays a refund, delegates to other code than MultiSendCallOnly, or
// lets the Safe call itself (to add an owner, for instance): no policy allows it, and its cost cannot be read.

import { keccak_256 } from '@noble/hashes/sha3.js'
import type { Call } from '../../language/call-rules.ts'
import type { TypedData } from '../../language/payload.ts'
import { bytesIn, integerIn } from '../../language/typed-data.ts'

/** Addresses here are 40 digits of lower-case hex. */
export const PROXY_FACTORY = '4e1dcf7ad4e460cfd30791ccc4f9c8a4f820ec67'
export const MULTI_SEND_CALL_ONLY = '9641d764fc13c8b624c04430c7356c1c7c8102e2'
const FALLBACK_HANDLER = 'fd0732dc9e303f09fcef3a7388ad10a83459ec99'
const PROXY_INIT_CODE_HASH = 'e298282cefe913ab5d282047161268a8222e4bd4ed106300c547894bbefd31ee'

const SETUP = 'b63e800d'
const EXEC_TRANSACTION = '6a761202'
const MULTI_SEND = '8d80ff0a'
const SELECTOR_BYTES = 4

const WORD_BYTES = 32
const EXEC_TRANSACTION_WORDS = 10
const OPERATION = { call: 0n, delegateCall: 1n } as const
/** MultiSend packs operation (1 byte), target (20), value (32), length (32), data. */
const ELEMENT_HEAD_BYTES = 85

const SAFE_TX =
  'address to,uint256 value,bytes data,uint8 operation,uint256 safeTxGas,uint256 baseGas,uint256 gasPrice,address gasToken,address refundReceiver,uint256 nonce'

export const hexOf = (bytes: Uint8Array): string => Buffer.from(bytes).toString('hex')
export const integerOf = (bytes: Uint8Array): bigint => BigInt(`0x${hexOf(bytes) || '0'}`)
const keccak = (...hex: readonly string[]): Uint8Array => keccak_256(Buffer.from(hex.join(''), 'hex'))
const addressIn = (hash: Uint8Array): string => hexOf(hash.subarray(-20))

const refused = (what: string): Error => new Error(`a policy does not sign for the contract wallet ${what}`)

const foreignCode = (): Error => refused('code that it runs as its own')

/** The address of a key, 40 digits. Pure. @param publicKey 65 bytes. */
export const ownerOf = (publicKey: Uint8Array): string => addressIn(keccak_256(publicKey.subarray(1)))

/** The address of a key's Safe, deployed or not (CREATE2). Pure. @param publicKey 65 bytes. */
export const safeOf = (publicKey: Uint8Array): string => {
  const owner = ownerOf(publicKey)
  // setup([owner], 1, 0, '', fallbackHandler, 0, 0, 0)
  const words = ['100', '1', '0', '140', FALLBACK_HANDLER, '0', '0', '0', '1', owner, '0']
  const initializer = keccak(SETUP, ...words.map((word) => word.padStart(WORD_BYTES * 2, '0')))
  const salt = keccak(hexOf(initializer), '0'.repeat(WORD_BYTES * 2))
  return addressIn(keccak('ff', PROXY_FACTORY, hexOf(salt), PROXY_INIT_CODE_HASH))
}

type Operation = Call & { readonly operation: bigint; readonly gasPrice: bigint }

/** Reads bytes from the start. Reading beyond the end is refused. */
const reader = (bytes: Uint8Array) => {
  let at = 0
  const take = (length: bigint | number): Uint8Array => {
    if (BigInt(length) > BigInt(bytes.length - at)) throw refused('call data that ends too early')
    at += Number(length)
    return bytes.subarray(at - Number(length), at)
  }
  return {
    take,
    word: () => take(WORD_BYTES),
    integer: () => integerOf(take(WORD_BYTES)),
    isAtEnd: () => at === bytes.length,
  }
}

const bodyOf = (data: Uint8Array, selector: string): Uint8Array => {
  if (hexOf(data.subarray(0, SELECTOR_BYTES)) !== selector) throw refused('another function')
  return data.subarray(SELECTOR_BYTES)
}

/** The first argument of type bytes after the head. */
const firstBytes = (body: Uint8Array, { offset, words }: { readonly offset: bigint; readonly words: number }) => {
  if (offset !== BigInt(words * WORD_BYTES)) throw refused('call data in another order')
  const { take, integer } = reader(body.subarray(words * WORD_BYTES))
  return take(integer())
}

const execTransactionIn = (data: Uint8Array): Operation => {
  const body = bodyOf(data, EXEC_TRANSACTION)
  const { word, integer } = reader(body)
  const [to, value, offset, operation] = [addressIn(word()), integer(), integer(), integer()]
  const [, , gasPrice] = [integer(), integer(), integer()]
  return { to, value, data: firstBytes(body, { offset, words: EXEC_TRANSACTION_WORDS }), operation, gasPrice }
}

const callsIn = (data: Uint8Array): readonly Call[] => {
  const body = bodyOf(data, MULTI_SEND)
  const { take, isAtEnd } = reader(firstBytes(body, { offset: reader(body).integer(), words: 1 }))
  const calls: Call[] = []
  while (!isAtEnd()) {
    const head = take(ELEMENT_HEAD_BYTES)
    const part = (from: number, until: number) => head.subarray(from, until)
    if (integerOf(part(0, 1)) !== OPERATION.call) throw foreignCode()
    calls.push({ to: hexOf(part(1, 21)), value: integerOf(part(21, 53)), data: take(integerOf(part(53, 85))) })
  }
  return calls
}

const callsMade = (safe: string, { to, value, data, operation, gasPrice }: Operation): readonly Call[] => {
  if (gasPrice !== 0n) throw refused('a refund of gas')
  const isBatch = operation === OPERATION.delegateCall && to === MULTI_SEND_CALL_ONLY
  if (!isBatch && operation !== OPERATION.call) throw foreignCode()
  const calls = isBatch ? callsIn(data) : [{ to, value, data }]
  if (calls.some((call) => call.to === safe && call.data.length > 0)) throw refused('a call of itself')
  return calls
}

export const isExecution = (data: Uint8Array): boolean => hexOf(data.subarray(0, SELECTOR_BYTES)) === EXEC_TRANSACTION

/** The calls that a Safe does when its owner calls it. Pure. @throws Error for anything but `execTransaction`. */
export const callsExecuted = (safe: string, data: Uint8Array): readonly Call[] =>
  callsMade(safe, execTransactionIn(data))

/** The calls in typed data that the Safe's owner signs. Pure. */
export const callsSigned = (
  { safe, chainId }: { readonly safe: string; readonly chainId: number },
  { domain, types, message }: TypedData,
): readonly Call[] => {
  const fields = types.SafeTx?.map(({ type, name }) => `${type} ${name}`).join(',')
  const isOfSafe =
    domain.verifyingContract?.toLowerCase() === `0x${safe}` && BigInt(domain.chainId ?? 0) === BigInt(chainId)
  if (Object.keys(types).length !== 1 || fields !== SAFE_TX || !isOfSafe) throw refused('typed data of another form')
  const { to, value, data, operation, gasPrice } = message
  return callsMade(safe, {
    to: hexOf(bytesIn(to, 'message.to')),
    value: integerIn(value, 'message.value'),
    data: bytesIn(data, 'message.data'),
    operation: integerIn(operation, 'message.operation'),
    gasPrice: integerIn(gasPrice, 'message.gasPrice'),
  })
}
