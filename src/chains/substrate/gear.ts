// Messages to programs (gear): how a message is weighed and tried on the node, and what became of one that was sent.
// Methods and shapes: gear-tech/gear, vara/pallets/gear/rpc/src/lib.rs and protocol/core/src/rpc.rs.

import { AppError } from '../../errors.ts'
import type { Hex, Intent } from '../chain.ts'
import { type Answer, type Question, question, type RpcError } from '../node/rpc.ts'
import { bytes, isRecord, MalformedAnswer, record } from '../node/wire.ts'
import { publicKeyOf } from './address.ts'
import type { ChainEvent } from './events.ts'
import { toHex } from './extrinsic.ts'
import { madeCall } from './made-call.ts'
import type { SubstrateNode } from './node.ts'
import type { Runtime } from './runtime.ts'
import { littleEndian } from './storage.ts'

/** The runtime refused: the message is at fault, not the node. */
const RUNTIME_ERROR = 8000
/** The program may do more by the time that it runs; what it does not use comes back. */
const GAS_MARGIN_PERCENT = 20n
const REASON_MAX_CHARACTERS = 300

/** A program's id is 32 bytes, as an account's. @param address as parseAddress returns it */
export const actorId = (address: string): Hex => {
  const publicKey = publicKeyOf(address)
  if (publicKey === null) throw new Error('expected an address')
  return toHex(publicKey)
}

/** Whether an intent is a message to a program, and no transfer. */
export const isMessage = ({ to, input }: Pick<Intent, 'to' | 'input'>): boolean => to !== null && input !== '0x'

/** The call that a message is: the sender is kept alive. @throws not_implemented where the runtime has no programs. */
export const messageCall = (runtime: Runtime, message: Intent & { readonly to: string }): Hex => {
  const { to, input, gasLimit = 0n, value } = message
  if (runtime.calls.gear?.sendMessage === undefined) throw noPrograms()
  const values = [actorId(to), input, gasLimit, value, true]
  return madeCall(runtime, { pallet: 'gear', name: 'sendMessage', values })
}

const noPrograms = (): AppError =>
  new AppError('not_implemented', 'The network that this deployment is connected to runs no programs.')

/** The most that a block runs, and so the most that a message may take. */
const blockGasLimit = (runtime: Runtime): bigint => {
  const limit = runtime.constants.gearGas?.blockGasLimit
  if (limit === undefined) throw noPrograms()
  return littleEndian(toHex(limit.toU8a()))
}

const gasUnits = (value: unknown): bigint => {
  if (typeof value === 'number' && Number.isSafeInteger(value) && value >= 0) return BigInt(value)
  throw new MalformedAnswer('an amount of gas')
}

type Message = { readonly from: string; readonly to: string; readonly input: Hex; readonly value: bigint }

/** Panics of other programs that the message leads to are none of its own. */
const ALLOW_OTHER_PANICS = true

const gasQuestion = ({ from, to, input, value }: Message, blockHash: Hex): Question<bigint> =>
  question(
    'gear_calculateHandleGas',
    [actorId(from), actorId(to), input, value.toString(), ALLOW_OTHER_PANICS, blockHash],
    (info) => gasUnits(record(info).min_limit),
  )

/** What a program answers. `failure` names why it is no success: `Execution.UserspacePanic`. */
export type Reply = { readonly payload: Hex; readonly failure: string | null }

/** `{ "Error": { "Execution": "UserspacePanic" } }` as `Error.Execution.UserspacePanic`. */
const wordsOf = (code: unknown): readonly string[] => {
  if (typeof code === 'string') return [code]
  const [entry] = isRecord(code) ? Object.entries(code) : []
  return entry === undefined ? [] : [entry[0], ...wordsOf(entry[1])]
}

const parseReply = (value: unknown): Reply => {
  const { payload, code } = record(value)
  const [kind, ...reason] = wordsOf(code)
  if (kind === undefined) throw new MalformedAnswer('the code of a reply')
  return { payload: bytes(payload), failure: kind === 'Success' ? null : reason.join('.') || kind }
}

/** What a program would reply as of a block; `gasLimit` is not paid for. */
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

/** What a program says when it panics: a text, or nothing that can be shown. */
const sentenceIn = (payload: Hex): string => {
  const text = Buffer.from(payload.slice(2), 'hex').toString('utf8')
  return text.includes('\ufffd') ? '' : text.replace(CONTROL, '').slice(0, REASON_MAX_CHARACTERS)
}

const failureOf = ({ payload, failure }: Reply): string | null => {
  if (failure === null) return null
  const said = sentenceIn(payload)
  return said === '' ? failure : `${failure}: ${said}`
}

/** The runtime's own words, which nodes put into quotes; null for another refusal. */
const refusedByRuntime = ({ code, message, data }: RpcError): string | null => {
  if (code !== RUNTIME_ERROR) return null
  return (typeof data === 'string' ? data.replace(/^"(.*)"$/s, '$1') : message)
    .replace(CONTROL, '')
    .slice(0, REASON_MAX_CHARACTERS)
}

const reverted = (reason: string): AppError => new AppError('execution_reverted', `execution reverted: ${reason}`)

/** @throws execution_reverted, node_unavailable. */
const need = <T>({ rpc }: Pick<SubstrateNode, 'rpc'>, answer: Answer<T>): T => {
  if (answer.ok) return answer.value
  const reason = refusedByRuntime(answer.error)
  throw reason === null ? rpc.refusal(answer.error) : reverted(reason)
}

type Sending = { readonly runtime: Runtime; readonly intent: Intent; readonly from: string; readonly blockHash: Hex }

/**
 * A message with the gas that it takes as of a block, and a margin; a caller's own limit is kept.
 * @throws invalid_input (more than a block runs), execution_reverted, not_implemented, node_unavailable.
 */
export const withGasLimit = async (
  node: Pick<SubstrateNode, 'rpc'>,
  { runtime, intent, from, blockHash }: Sending,
): Promise<Intent> => {
  const { to, gasLimit, input, value } = intent
  if (to === null || !isMessage(intent)) return intent
  const most = blockGasLimit(runtime)
  if (gasLimit !== undefined) {
    if (gasLimit <= most) return intent
    throw new AppError(
      'invalid_input',
      `Field "unsigned_transaction.gasLimit" must not be above what a block runs, ${most}.`,
    )
  }
  const least = need(node, await node.rpc.try(gasQuestion({ from, to, input, value }, blockHash)))
  const ample = least + (least * GAS_MARGIN_PERCENT) / 100n
  return { ...intent, gasLimit: ample < most ? ample : most }
}

/**
 * Asks programs what they would reply, to somebody who pays nothing for it, in one round trip.
 * @returns null for those that the runtime refused: there is no such program, or it did not reply.
 * @throws not_implemented, node_unavailable.
 */
export const askPrograms = async (
  node: Pick<SubstrateNode, 'rpc'>,
  {
    runtime,
    blockHash,
    messages,
  }: { readonly runtime: Runtime; readonly blockHash: Hex; readonly messages: readonly Message[] },
): Promise<readonly (Reply | null)[]> => {
  const gasLimit = blockGasLimit(runtime)
  const answers: readonly Answer<Reply>[] = await node.rpc.tryAll(
    messages.map((message) => replyQuestion(message, { gasLimit, blockHash })),
  )
  return answers.map((answer) => {
    if (answer.ok) return answer.value
    if (refusedByRuntime(answer.error) === null) throw node.rpc.refusal(answer.error)
    return null
  })
}

/**
 * What a message would come to as of a block: whether the program replies with success, and why not.
 * @throws not_implemented, node_unavailable.
 */
export const previewMessage = async (
  node: Pick<SubstrateNode, 'rpc'>,
  { runtime, intent, from, blockHash }: Sending & { readonly intent: Intent & { readonly to: string } },
): Promise<{ readonly success: boolean; readonly error: string | null }> => {
  const gasLimit = intent.gasLimit ?? blockGasLimit(runtime)
  const answer = await node.rpc.try(replyQuestion({ ...intent, from }, { gasLimit, blockHash }))
  const refusal = answer.ok ? null : refusedByRuntime(answer.error)
  if (!answer.ok && refusal === null) throw node.rpc.refusal(answer.error)
  const reason = answer.ok ? failureOf(answer.value) : refusal
  return { success: reason === null, error: reason === null ? null : `execution reverted: ${reason}` }
}

/** `execution` of the codec's JSON as `Execution`. */
const capital = (word: string): string => `${word.slice(0, 1).toUpperCase()}${word.slice(1)}`

/** The runtime answers for the program with an error reply: `{ details: { to, code } }`. */
const replyTo = (events: readonly ChainEvent[], messageId: string): Reply | null => {
  for (const { pallet, name, fields } of events) {
    const message = pallet === 'Gear' && name === 'UserMessageSent' ? fields.get('message')?.toJSON() : null
    if (!isRecord(message) || !isRecord(message.details) || message.details.to !== messageId) continue
    const [, ...reason] = wordsOf(message.details.code)
    return { payload: bytes(message.payload), failure: reason.map(capital).join('.') || 'Unknown' }
  }
  return null
}

/**
 * Why the program did not do what an extrinsic's message told it: extrinsics succeed once their messages are queued.
 * null for one that it did, and for one that is not run by the end of its block: then nobody knows yet. Pure.
 */
export const messageFailure = (events: readonly ChainEvent[], extrinsic: number): string | null => {
  const queued = events.filter((event) => event.extrinsic === extrinsic && event.name === 'MessageQueued')
  const ids = queued.filter(({ pallet }) => pallet === 'Gear').map(({ fields }) => fields.get('id')?.toHex() ?? '0x')
  for (const { pallet, name, fields } of ids.length === 0 ? [] : events) {
    const statuses = pallet === 'Gear' && name === 'MessagesDispatched' ? fields.get('statuses')?.toJSON() : null
    const failed = isRecord(statuses) ? ids.find((id) => statuses[id] === 'Failed') : undefined
    if (failed === undefined) continue
    const reply = replyTo(events, failed)
    return `Gear: ${(reply && failureOf(reply)) ?? 'the program failed'}`
  }
  return null
}
