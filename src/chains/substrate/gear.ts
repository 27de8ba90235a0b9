// Messages to programs (gear): estimates their gas, simulates them on the node, and reads how a sent message ended.
// RPC methods: gear-tech/gear, vara/pallets/gear/rpc/src/lib.rs and protocol/core/src/rpc.rs.

import { lower } from '../../platform/amount.ts'
import { AppError } from '../../platform/errors.ts'
import type { Hex, Intent } from '../chain.ts'
import { type Answer, type Question, question, type RpcError } from '../node/rpc.ts'
import { bytes, isRecord, MalformedAnswer, record } from '../node/wire.ts'
import { provided } from '../provided.ts'
import { actorId } from './address.ts'
import { encodeCall } from './codec.ts'
import { type ChainEvent, capitalized, nameOf } from './events.ts'
import type { SubstrateNode } from './node.ts'
import { constantOf, type Runtime } from './runtime.ts'
import { fromHex } from './scale.ts'

/** The runtime refused the message; the node itself works. */
const RUNTIME_ERROR = 8000
/** The program may need more gas when it runs. Unused gas is refunded. */
const GAS_MARGIN_PERCENT = 20n
const REASON_MAX_CHARACTERS = 300

/** Whether an intent is a message to a program, not a transfer. Pure. */
export const isMessage = ({ to, input }: Pick<Intent, 'to' | 'input'>): boolean => to !== null && input !== '0x'

/** A network with programs has the pallet unless a runtime upgrade removed or renamed it. */
const NO_PROGRAMS =
  'The runtime of this network runs no programs: it lacks the pallet Gear, or a part of it that is used here.'

/** Encodes a message as a call that keeps the sender's account alive. */
export const messageCall = (runtime: Runtime, message: Intent & { readonly to: string }): Hex => {
  const { to, input, gasLimit = 0n, value } = message
  provided(runtime.calls.gear?.sendMessage, NO_PROGRAMS)
  const values = [actorId(to), input, gasLimit, value, true]
  return encodeCall(runtime, { pallet: 'gear', name: 'sendMessage', values })
}

/** The gas limit of a block, which is the most that a message can use. */
const blockGasLimit = (runtime: Runtime): bigint =>
  provided(constantOf(runtime, 'gearGas', 'blockGasLimit'), NO_PROGRAMS)

const gasUnits = (value: unknown): bigint => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  throw new MalformedAnswer('an amount of gas')
}

/** `from` and `to` are addresses, or ids of programs in hex. */
type Message = { readonly from: string; readonly to: string; readonly input: Hex; readonly value: bigint }

/** A panic of another program that handles a follow-up message does not fail this message. */
const ALLOW_OTHER_PANICS = true

const gasQuestion = ({ from, to, input, value }: Message, blockHash: Hex): Question<bigint> =>
  question(
    'gear_calculateHandleGas',
    [actorId(from), actorId(to), input, value.toString(), ALLOW_OTHER_PANICS, blockHash],
    (info) => gasUnits(record(info).min_limit),
  )

/** A program's reply. `failure` is the reason if it is an error reply: `Execution.UserspacePanic`. */
export type Reply = { readonly payload: Hex; readonly failure: string | null }

/** The path of names in nested enums: `{ "Error": { "Execution": "UserspacePanic" } }` gives all three. */
const namesIn = (code: unknown): readonly string[] => {
  if (typeof code === 'string') return [code]
  const [entry] = isRecord(code) ? Object.entries(code) : []
  return entry === undefined ? [] : [entry[0], ...namesIn(entry[1])]
}

const parseReply = (value: unknown): Reply => {
  const { payload, code } = record(value)
  const [kind, ...reason] = namesIn(code)
  if (kind === undefined) throw new MalformedAnswer('the code of a reply')
  return { payload: bytes(payload), failure: kind === 'Success' ? null : reason.join('.') || kind }
}

/** Asks what a program would reply on the state of a block. No account pays for the gas. */
const replyQuestion = (
  { from, to, input, value }: Message,
  { gasLimit, blockHash }: { readonly gasLimit: bigint; readonly blockHash: Hex },
): Question<Reply> =>
  question(
    'gear_calculateReplyForHandle',
    [actorId(from), actorId(to), input, Number(gasLimit), value.toString(), blockHash],
    parseReply,
  )

const CONTROL = /\p{C}/gu

/** The text of a program's panic; '' if the payload is not text. */
const panicText = (payload: Hex): string => {
  const text = fromHex(payload).toString('utf8')
  return text.includes('\ufffd') ? '' : text.replace(CONTROL, '').slice(0, REASON_MAX_CHARACTERS)
}

const failureOf = ({ payload, failure }: Reply): string | null => {
  if (failure === null) return null
  const text = panicText(payload)
  return text === '' ? failure : `${failure}: ${text}`
}

/** The runtime's reason, without the node's quotes; null if the runtime did not refuse. */
const runtimeReason = ({ code, message, data }: RpcError): string | null => {
  if (code !== RUNTIME_ERROR) return null
  return (typeof data === 'string' ? data.replace(/^"(.*)"$/s, '$1') : message)
    .replace(CONTROL, '')
    .slice(0, REASON_MAX_CHARACTERS)
}

/** The value of an answer, or the runtime's reason for its refusal. @throws NodeUnavailable for any other refusal. */
const valueOrReason = <T>({ rpc }: Pick<SubstrateNode, 'rpc'>, answer: Answer<T>) => {
  if (answer.ok) return { value: answer.value, reason: null }
  const reason = runtimeReason(answer.error)
  if (reason === null) throw rpc.refusal(answer.error)
  return { value: null, reason }
}

type Sending = { readonly runtime: Runtime; readonly intent: Intent; readonly from: string; readonly blockHash: Hex }

/**
 * The estimate on the state of a block, with a margin, unless the caller set a limit. For other intents nothing
 * changes.
 * @throws execution_reverted
 */
export const withGasLimit = async (
  node: Pick<SubstrateNode, 'rpc' | 'row'>,
  { runtime, intent, from, blockHash }: Sending,
): Promise<Intent> => {
  const { to, gasLimit, input, value } = intent
  if (!node.row.hasPrograms || to === null || !isMessage(intent)) return intent
  const most = blockGasLimit(runtime)
  if (gasLimit !== undefined) {
    if (gasLimit <= most) return intent
    const sentence = `Field "unsigned_transaction.gasLimit" must not be above ${most}, the gas limit of a block.`
    throw new AppError('invalid_input', sentence)
  }
  const answer = await node.rpc.try(gasQuestion({ from, to, input, value }, blockHash))
  const { value: least, reason } = valueOrReason(node, answer)
  if (least === null) throw new AppError('execution_reverted', `execution reverted: ${reason}`)
  return { ...intent, gasLimit: lower(least + (least * GAS_MARGIN_PERCENT) / 100n, most) }
}

/** In one round trip, without a transaction. The reply is null if the program does not exist or did not reply. */
export const askPrograms = async (
  node: Pick<SubstrateNode, 'rpc'>,
  input: { readonly runtime: Runtime; readonly blockHash: Hex; readonly messages: readonly Message[] },
): Promise<readonly (Reply | null)[]> => {
  const { runtime, blockHash, messages } = input
  const gasLimit = blockGasLimit(runtime)
  const answers: readonly Answer<Reply>[] = await node.rpc.tryAll(
    messages.map((message) => replyQuestion(message, { gasLimit, blockHash })),
  )
  return answers.map((answer) => valueOrReason(node, answer).value)
}

export const previewMessage = async (
  node: Pick<SubstrateNode, 'rpc'>,
  { runtime, intent, from, blockHash }: Sending & { readonly intent: Intent & { readonly to: string } },
): Promise<{ readonly success: boolean; readonly error: string | null }> => {
  const gasLimit = intent.gasLimit ?? blockGasLimit(runtime)
  const answer = await node.rpc.try(replyQuestion({ ...intent, from }, { gasLimit, blockHash }))
  const { value: reply, reason: refusal } = valueOrReason(node, answer)
  const reason = reply === null ? refusal : failureOf(reply)
  return { success: reason === null, error: reason === null ? null : `execution reverted: ${reason}` }
}

/** The error reply that the runtime sends for a failed program: `{ details: { to, code } }`. */
const replyTo = (events: readonly ChainEvent[], messageId: string): Reply | null => {
  for (const event of events) {
    const message = nameOf(event) === 'Gear.UserMessageSent' ? event.fields.get('message')?.toJSON() : null
    if (!isRecord(message) || !isRecord(message.details) || message.details.to !== messageId) continue
    const [, ...reason] = namesIn(message.details.code)
    return { payload: bytes(message.payload), failure: reason.map(capitalized).join('.') || 'Unknown' }
  }
  return null
}

/**
 * The extrinsic itself succeeds as soon as its message is queued. null also if the message has not run in this block.
 * Pure.
 */
export const messageFailure = (events: readonly ChainEvent[], extrinsic: number): string | null => {
  const queued = events.filter((event) => event.extrinsic === extrinsic && nameOf(event) === 'Gear.MessageQueued')
  const ids = queued.map(({ fields }) => fields.get('id')?.toHex() ?? '0x')
  for (const event of ids.length === 0 ? [] : events) {
    const statuses = nameOf(event) === 'Gear.MessagesDispatched' ? event.fields.get('statuses')?.toJSON() : null
    const failed = isRecord(statuses) ? ids.find((id) => statuses[id] === 'Failed') : undefined
    if (failed === undefined) continue
    const reply = replyTo(events, failed)
    return `Gear: ${(reply && failureOf(reply)) ?? 'the program failed'}`
  }
  return null
}
