// Several calls at once (EIP-5792, version 2.0.0): one transaction of a contract wallet, or several of an eoa if the
// app does not require that they are atomic. The Idempotency-Key is made of the app's id, so a batch that is sent again
// is not done twice. Without an id it is the calls by which a batch that failed is known.

import { isLost } from './answer.ts'
import { StrongroomError } from './errors.ts'
import { type EvmWallet, readQuantity, signerFields, unsignedOf } from './evm-wallet.ts'
import type { InputOf } from './operation.ts'
import { INVALID_PARAMS, isObject, ProviderError } from './provider-error.ts'
import { readChainId, refuseUnknown } from './provider-parameters.ts'
import { createFailedRequests, sendOnce } from './send.ts'
import { type Batch, type BatchStorage, createChosenIds, formatBatch, parseBatch } from './sent-batches.ts'
import type { TransactionStatus } from './wait-for.ts'

type Parts = {
  readonly address: string
  readonly walletOn: (chainId: number) => EvmWallet
  /** Refuses another account than the wallet's. */
  readonly own: (address: unknown) => void
  readonly chainIds: readonly number[]
  readonly type: 'eoa' | 'contract'
  readonly receipt: (chainId: number, hash: string) => Promise<unknown>
  readonly storage?: BatchStorage | undefined
  /** For so long a call is sent again whose answer is lost. */
  readonly sendMs?: number | undefined
}

const VERSION = '2.0.0'
/** EIP-5792 §error codes, and EIP-1474 for a version, as other wallets have it. */
const UNSUPPORTED_VERSION = -32000
const UNSUPPORTED_CAPABILITY = 5700
const UNSUPPORTED_CHAIN = 5710
const DUPLICATE_ID = 5720
const UNKNOWN_ID = 5730
const TOO_LARGE = 5740
const NOT_ATOMIC = 5760
/** EIP-5792 §status codes. */
const PENDING = 100
const CONFIRMED = 200
const FAILED_OFFCHAIN = 400
const REVERTED = 500
const PARTLY_REVERTED = 600

const CALLS_MAX = 100
/** 4096 bytes as hex, with its 0x. */
const ID_CHARACTERS_MAX = 8194

type Fields = Readonly<Record<string, unknown>>

const hexNumber = (value: number) => `0x${value.toString(16)}`

const unknownId = (): ProviderError => new ProviderError(UNKNOWN_ID, 'No calls are known by this id.')

const isMismatch = (error: unknown): boolean =>
  error instanceof StrongroomError && error.code === 'idempotency_mismatch'

const refuseCapabilities = (all: readonly unknown[]): void => {
  const required = all
    .flatMap((each) => Object.entries(isObject(each) ? each : {}))
    .find(([, value]) => !isObject(value) || value.optional !== true)
  if (required !== undefined) throw new ProviderError(UNSUPPORTED_CAPABILITY, `${required[0]} is not supported.`)
}

const CALL_FIELDS = ['to', 'value', 'data', 'capabilities']

const readCalls = (request: Fields) => {
  const calls = Array.isArray(request.calls) ? request.calls : []
  if (calls.length === 0 || !calls.every(isObject))
    throw new ProviderError(INVALID_PARAMS, 'There must be at least one call.')
  if (calls.length > CALLS_MAX) throw new ProviderError(TOO_LARGE, `A batch has at most ${CALLS_MAX} calls.`)
  refuseCapabilities([request.capabilities, ...calls.map((each) => each.capabilities)])
  return calls.map((call) => {
    refuseUnknown(call, CALL_FIELDS)
    const { to = null, value, data } = call
    return unsignedOf({
      // Without an address a call makes a contract.
      to: to === null ? null : String(to),
      value: readQuantity({ name: 'value', value }) ?? '0',
      data: String(data ?? '0x'),
    })
  })
}

const readId = ({ id }: Fields): string | undefined => {
  if (id === undefined || id === null) return undefined
  if (typeof id === 'string' && id.length >= 1 && id.length <= ID_CHARACTERS_MAX) return id
  throw new ProviderError(INVALID_PARAMS, 'Field "id" must be a text of at most 4096 bytes.')
}

/** The status of a batch, by those of its transactions that were sent. */
const statusCode = (transactions: readonly TransactionStatus[], { count }: Batch): number => {
  const has = (status: TransactionStatus['status']) => transactions.some((each) => each.status === status)
  if (transactions.some(({ status }) => status !== 'success' && status !== 'failed')) return PENDING
  if (!has('failed') && transactions.length === count) return CONFIRMED
  if (has('success')) return PARTLY_REVERTED
  return transactions.some(({ code }) => code === 'execution_reverted') ? REVERTED : FAILED_OFFCHAIN
}

/** EIP-5792's receipt: six fields of the node's. */
const shownReceipt = (receipt: unknown): readonly unknown[] => {
  if (!isObject(receipt)) return []
  const { logs, status, blockHash, blockNumber, gasUsed, transactionHash } = receipt
  return [{ logs, status, blockHash, blockNumber, gasUsed, transactionHash }]
}

type Unsigned = InputOf<'transactions_sign_and_send'>['unsigned_transaction']
type Sending = {
  readonly wallet: EvmWallet
  readonly calls: readonly Unsigned[]
  /** Of the first transaction. */
  readonly key: string
  readonly sendMs: number | undefined
}

/** One transaction of a contract wallet. */
const sendTogether = async ({ wallet, calls, key, sendMs }: Sending): Promise<readonly string[]> => {
  const input = { ...(await signerFields(wallet)), unsigned_transactions: [...calls] }
  const { transactions } = wallet.client
  return [(await sendOnce((options) => transactions.batchSignAndSend(input, options), { key, sendMs })).transaction_id]
}

/** A transaction for each, without waiting for blocks, until one is refused. */
const sendInTurn = async ({ wallet, calls, key, sendMs }: Sending): Promise<readonly string[]> => {
  // Asked once: a user types a PIN for the batch, and not for each call.
  const fields = await signerFields(wallet)
  const sent: string[] = []
  for (const [index, unsigned_transaction] of calls.entries()) {
    const own = index === 0 ? key : `${key}.${index}`
    try {
      const input = { ...fields, unsigned_transaction }
      const { transactions } = wallet.client
      const once = await sendOnce((options) => transactions.signAndSend(input, options), { key: own, sendMs })
      sent.push(once.transaction_id)
    } catch (error) {
      // It may have been sent. Asked for again, the batch goes on with the same keys.
      if (isLost(error)) throw error
      // What was sent stays sent, so the app needs an id by which it can follow it.
      if (index === 0 || isMismatch(error)) throw error
      break
    }
  }
  return sent
}

/** @returns the id of the provider itself */
const submit = async ({
  type,
  ...sending
}: Sending & { readonly chainId: number; readonly type: Parts['type'] }): Promise<string> => {
  const { calls, chainId } = sending
  const isTogether = type === 'contract' && calls.length > 1
  const transactionIds = await (isTogether ? sendTogether : sendInTurn)(sending)
  return formatBatch({ chainId, transactionIds, count: isTogether ? 1 : calls.length })
}

const readRequest = ({ own, chainIds, type }: Parts, request: Fields) => {
  own(request.from)
  if (request.version !== VERSION) throw new ProviderError(UNSUPPORTED_VERSION, `Field "version" must be "${VERSION}".`)
  const calls = readCalls(request)
  const chainId = readChainId(request.chainId)
  if (!chainIds.includes(chainId))
    throw new ProviderError(UNSUPPORTED_CHAIN, `The chain ${chainId} is not among those of this provider.`)
  // An app that leaves it out may count on it.
  if (calls.length > 1 && type === 'eoa' && request.atomicRequired !== false)
    throw new ProviderError(NOT_ATOMIC, 'Only a wallet of type contract sends several calls all or nothing.')
  return { calls, chainId, id: readId(request) }
}

const readTransactions = async ({ client }: EvmWallet, batch: Batch): Promise<readonly TransactionStatus[]> => {
  try {
    return await Promise.all(batch.transactionIds.map((id) => client.transactions.statusById({ id })))
  } catch (error) {
    if (error instanceof StrongroomError && error.code === 'transaction_not_found') throw unknownId()
    throw error
  }
}

const minedHashes = (transactions: readonly TransactionStatus[]): readonly string[] =>
  transactions.flatMap(({ status, code, transaction_hash: hash }) =>
    hash !== null && (status === 'success' || code === 'execution_reverted') ? [hash] : [],
  )

export const createBatches = (parts: Parts) => {
  const { address, walletOn, own, chainIds, type, receipt, storage, sendMs } = parts
  const chosen = createChosenIds({ address }, storage)
  const underWay = new Set<string>()
  /** The keys of batches without an id. */
  const failed = createFailedRequests<string>()

  type Unkeyed = Omit<Parameters<typeof submit>[0], 'key'>
  const submitUnnamed = async (sending: Unkeyed) => {
    const same = JSON.stringify([sending.chainId, sending.calls]).toLowerCase()
    const request = failed.take(same) ?? crypto.randomUUID()
    try {
      return { id: await submit({ ...sending, key: request }) }
    } catch (error) {
      failed.keep(same, { request, error })
      throw error
    }
  }
  const submitAs = async (id: string, sending: Unkeyed) => {
    const key = await chosen.digest(id)
    const duplicate = new ProviderError(DUPLICATE_ID, 'The id was used before.')
    if (underWay.has(key) || chosen.find(key) !== undefined) throw duplicate
    underWay.add(key)
    try {
      chosen.keep(key, await submit({ ...sending, key }))
    } catch (error) {
      throw isMismatch(error) ? duplicate : error
    } finally {
      underWay.delete(key)
    }
    return { id }
  }

  const send = async (request: Fields): Promise<{ readonly id: string }> => {
    const { calls, chainId, id } = readRequest(parts, request)
    const sending = { wallet: walletOn(chainId), calls, chainId, type, sendMs }
    return id === undefined ? submitUnnamed(sending) : submitAs(id, sending)
  }

  const status = async (id: string) => {
    const batch = parseBatch(chosen.find(await chosen.digest(id)) ?? id)
    if (batch === null || !chainIds.includes(batch.chainId)) throw unknownId()
    const transactions = await readTransactions(walletOn(batch.chainId), batch)
    const receipts = await Promise.all(minedHashes(transactions).map((hash) => receipt(batch.chainId, hash)))
    return {
      version: VERSION,
      id,
      chainId: hexNumber(batch.chainId),
      status: statusCode(transactions, batch),
      atomic: batch.count === 1,
      receipts: receipts.flatMap(shownReceipt),
    }
  }

  const capabilities = (params: unknown) => {
    const [account, wanted] = Array.isArray(params) ? params : []
    own(account)
    const shown = chainIds.filter((id) => !Array.isArray(wanted) || wanted.map(Number).includes(id))
    const atomic = { status: type === 'contract' ? 'supported' : 'unsupported' }
    return Object.fromEntries(shown.map((id) => [hexNumber(id), { atomic }]))
  }

  return { send, status, capabilities }
}
