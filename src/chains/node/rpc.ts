// A JSON-RPC client. It never retries: only the caller knows whether a question may be sent twice. If the node cannot
// be reached or its answer cannot be read, it throws NodeUnavailable. A refusal by the node is returned as data
// (RpcError in an Answer), because its meaning depends on the question. No message or cause shows the URL, which
// contains the provider's key.

import type { Network, NodeTrouble } from '../../../db/words.ts'
import { httpTransport, type Transport } from './http.ts'
import { isWebSocketUrl, webSocketTransport } from './web-socket.ts'
import { MalformedAnswer, NodeUnavailable, record } from './wire.ts'

export { NodeUnavailable } from './wire.ts'

/** The default time limit for an answer. */
export const RPC_TIMEOUT_MS = 15_000
/** Questions of the indexer and the tracker (logs, blocks, traces) may take this many times longer. */
export const BULK_TIMEOUT_TIMES = 4
/** Requests in one JSON-RPC batch: geth allows 1,000, hosted nodes often 100. */
export const RPC_BATCH_LIMIT = 100
/** Batches of one `tryAll` that are sent in parallel. */
export const RPC_PARALLEL_LIMIT = 4
/** A JSON-RPC error as the node sent it. `code`, `data` and above all `message` differ by client. */
export class RpcError extends Error {
  readonly method: string
  readonly code: number
  readonly data: unknown

  constructor(input: Pick<RpcError, 'method' | 'code' | 'message'> & { readonly data?: unknown }) {
    super(input.message)
    this.name = 'RpcError'
    this.method = input.method
    this.code = input.code
    this.data = input.data
  }
}

/** A JSON-RPC request and the parser of its result. */
export type Question<T> = {
  readonly method: string
  readonly params: readonly unknown[]
  readonly parse: (result: unknown) => T
}

export type Answer<T> = { readonly ok: true; readonly value: T } | { readonly ok: false; readonly error: RpcError }

export type AnyQuestions = readonly (Question<unknown> | null)[]
type ValueOf<Q> = Q extends Question<infer T> ? T : null
type AnswersOf<Q extends AnyQuestions> = { readonly [K in keyof Q]: Answer<ValueOf<Q[K]>> }
type ValuesOf<Q extends AnyQuestions> = { readonly [K in keyof Q]: ValueOf<Q[K]> }

export type AskOptions = {
  readonly size?: 'bulk'
  readonly batchLimit?: number
  /** Sent first in each batch. If its parser throws, the batch fails. */
  readonly along?: Question<unknown>
  /** Asks the node how it is, also while other calls are not sent to it (health.ts). */
  readonly isProbe?: true
}

export type Rpc = {
  /** Returns a refusal as data. @throws NodeUnavailable if the node cannot be reached or its answer cannot be read. */
  try<T>(question: Question<T>, options?: AskOptions): Promise<Answer<T>>
  /** Sends one batch, split at `batchLimit`; a null is not sent, and its answer is null. */
  tryAll<const Q extends AnyQuestions>(questions: Q, options?: AskOptions): Promise<AnswersOf<Q>>
  /** For questions that a node must answer. @throws NodeUnavailable for a refusal too. */
  ask<T>(question: Question<T>, options?: AskOptions): Promise<T>
  askAll<const Q extends AnyQuestions>(questions: Q, options?: AskOptions): Promise<ValuesOf<Q>>
  /** The value of an answer. @throws NodeUnavailable for a refusal. */
  need<T>(answer: Answer<T>): T
  /** Turns a refusal into an error to throw. */
  refusal(error: RpcError): NodeUnavailable
}

export const question = <T>(
  method: string,
  params: readonly unknown[],
  parse: (result: unknown) => T,
): Question<T> => ({ method, params, parse })

type Wire = {
  readonly transport: Transport
  readonly network: Network
  readonly timeoutMs: number
  readonly around: ((methods: readonly string[], run: () => Promise<Answers>) => Promise<Answers>) | undefined
  nextId: number
}
type Answers = readonly Answer<unknown>[]
type Sent = { readonly id: number; readonly question: Question<unknown> }

const readError = (method: string, error: unknown): RpcError => {
  const { code, message, data } = record(error)
  return new RpcError({
    method,
    code: typeof code === 'number' ? code : 0,
    message: typeof message === 'string' ? message : '',
    data,
  })
}

const readAnswer = (method: string, response: unknown): Answer<unknown> => {
  const fields = record(response)
  if (fields.error !== undefined && fields.error !== null) return { ok: false, error: readError(method, fields.error) }
  if (!('result' in fields)) throw new MalformedAnswer('a result or an error')
  return { ok: true, value: fields.result }
}

/** The answers of a batch come in any order. Some nodes answer a whole batch with a single error object. */
const matchAnswers = (sent: readonly Sent[], body: unknown): readonly Answer<unknown>[] => {
  if (!Array.isArray(body)) {
    const answers = sent.map(({ question: { method } }) => readAnswer(method, body))
    const isOwn = sent.length === 1 && record(body).id === sent[0]?.id
    if (!isOwn && answers.some(({ ok }) => ok)) throw new MalformedAnswer('an answer for each question')
    return answers
  }
  const byId = new Map<unknown, unknown>()
  for (const response of body) byId.set(record(response).id, response)
  return sent.map(({ id, question: { method } }) => readAnswer(method, byId.get(id)))
}

const unreadable = (wire: Wire, method: string, cause: MalformedAnswer): NodeUnavailable =>
  new NodeUnavailable('unreadable', `The ${wire.network} node answered ${method} in an unknown form.`, cause)

const refused = (network: Network, error: RpcError): NodeUnavailable =>
  new NodeUnavailable('refused', `The ${network} node refused ${error.method}.`, error)

const parseAnswer = (wire: Wire, { method, parse }: Question<unknown>, answer: Answer<unknown>): Answer<unknown> => {
  if (!answer.ok) return answer
  try {
    return { ok: true, value: parse(answer.value) }
  } catch (error) {
    if (error instanceof MalformedAnswer) throw unreadable(wire, method, error)
    throw error
  }
}

type Batch = {
  readonly questions: readonly Question<unknown>[]
  readonly along: Question<unknown> | undefined
  readonly timeoutMs: number
}

const sendBatch = (wire: Wire, batch: Batch): Promise<Answers> => {
  const { along } = batch
  const questions = along === undefined ? batch.questions : [along, ...batch.questions]
  const send = () => sendQuestions(wire, { ...batch, questions })
  if (wire.around === undefined) return send()
  const methods = questions.map(({ method }) => method)
  return wire.around(methods, send)
}

/** @param batch.questions with `along` as the first. */
const sendQuestions = async (wire: Wire, { questions, along, timeoutMs }: Batch): Promise<Answers> => {
  const sent = questions.map((each) => ({ id: wire.nextId++, question: each }))
  const requests = sent.map(({ id, question: { method, params } }) => ({ jsonrpc: '2.0', id, method, params }))
  const body = JSON.stringify(requests.length === 1 ? requests[0] : requests)
  const decoded = await wire.transport({ body, ids: sent.map(({ id }) => id), timeoutMs })
  let answers: readonly Answer<unknown>[]
  try {
    answers = matchAnswers(sent, decoded)
  } catch (error) {
    if (error instanceof MalformedAnswer) throw unreadable(wire, questions[0]?.method ?? 'a batch', error)
    throw error
  }
  const read = questions.map((each, index) => {
    const answer = answers[index]
    if (answer === undefined) throw unreadable(wire, each.method, new MalformedAnswer('an answer'))
    return parseAnswer(wire, each, answer)
  })
  return along === undefined ? read : withoutFirst(wire, read)
}

/** A refusal of the extra first question is an error, unless the node refuses all other questions too. */
const withoutFirst = (wire: Wire, [first, ...rest]: readonly Answer<unknown>[]): readonly Answer<unknown>[] => {
  if (first !== undefined && !first.ok && rest.some(({ ok }) => ok)) throw refused(wire.network, first.error)
  return rest
}

const sendAll = async (
  wire: Wire,
  questions: readonly Question<unknown>[],
  { size, batchLimit = RPC_BATCH_LIMIT, along }: AskOptions,
): Promise<readonly Answer<unknown>[]> => {
  const timeoutMs = size === 'bulk' ? wire.timeoutMs * BULK_TIMEOUT_TIMES : wire.timeoutMs
  const batches: (readonly Question<unknown>[])[] = []
  const width = along === undefined ? batchLimit : Math.max(1, batchLimit - 1)
  for (let at = 0; at < questions.length; at += width) batches.push(questions.slice(at, at + width))
  const answers: (readonly Answer<unknown>[])[] = []
  let next = 0
  const work = async (): Promise<void> => {
    for (let index = next++; index < batches.length; index = next++) {
      answers[index] = await sendBatch(wire, { questions: batches[index] ?? [], along, timeoutMs })
    }
  }
  await Promise.all(Array.from({ length: Math.min(RPC_PARALLEL_LIMIT, batches.length) }, work))
  return answers.flat()
}

/** Builds an Rpc from its `tryAll`. @param onTrouble is called for each refusal that becomes an error. */
export const buildRpc = (
  network: Network,
  tryAll: Rpc['tryAll'],
  onTrouble: (trouble: NodeTrouble) => void = () => {},
): Rpc => {
  const refusal = (error: RpcError): NodeUnavailable => {
    onTrouble('refused')
    return refused(network, error)
  }
  const need = <T>(answer: Answer<T>): T => {
    if (!answer.ok) throw refusal(answer.error)
    return answer.value
  }
  const askAll: Rpc['askAll'] = async <const Q extends AnyQuestions>(questions: Q, options?: AskOptions) => {
    const answers: readonly Answer<unknown>[] = await tryAll(questions, options)
    return answers.map(need) as unknown as ValuesOf<Q>
  }
  return {
    tryAll,
    askAll,
    need,
    refusal,
    try: async (one, options) => (await tryAll([one], options))[0],
    ask: async (one, options) => need((await tryAll([one], options))[0]),
  }
}

/** Creates the client of one node. Every call may throw NodeUnavailable (`node_unavailable`, retryable). */
export const createRpc = (input: {
  readonly rpcUrl: string
  readonly network: Network
  readonly timeoutMs?: number
  readonly around?: Wire['around']
}): Rpc => {
  const { network, timeoutMs = RPC_TIMEOUT_MS, around } = input
  const transport = isWebSocketUrl(input.rpcUrl) ? webSocketTransport(input) : httpTransport(input)
  const wire: Wire = { network, timeoutMs, transport, around, nextId: 1 }
  return buildRpc(input.network, async <const Q extends AnyQuestions>(questions: Q, options: AskOptions = {}) => {
    const asked = questions.filter((each) => each !== null)
    const answers = await sendAll(wire, asked, options)
    let next = 0
    const all = questions.map((each) => (each === null ? { ok: true, value: null } : answers[next++]))
    // Each element has the type that its question's parser returns; TypeScript cannot infer this.
    return all as unknown as AnswersOf<Q>
  })
}
