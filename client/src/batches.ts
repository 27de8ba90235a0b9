// Several calls as one transaction (EIP-5792, version 2.0.0), which contract wallets can. An id of the app is the request's
// Idempotency-Key, so a batch that is sent again is not done twice.

import { StrongroomError } from './errors.ts'
import { type EvmWallet, signerFields, unsignedOf } from './evm-wallet.ts'
import { isObject, ProviderError } from './provider-error.ts'
import type { TransactionStatus } from './wait-for.ts'

type Parts = {
  readonly walletOn: (chainId: number) => EvmWallet
  /** Refuses another account than the wallet's. */
  readonly own: (address: unknown) => void
  readonly chainIds: readonly number[]
  readonly type: 'eoa' | 'contract'
  readonly receipt: (chainId: number, hash: string) => Promise<unknown>
}

type Sent = { readonly transactionId: string; readonly chainId: number }

const VERSION = '2.0.0'
/** EIP-5792 §error codes. */
const UNSUPPORTED_CAPABILITY = 5700
const DUPLICATE_ID = 5720
const UNKNOWN_ID = 5730
const TOO_LARGE = 5740
const NOT_ATOMIC = 5760
/** EIP-5792 §status codes. */
const PENDING = 100
const CONFIRMED = 200
const FAILED_OFFCHAIN = 400
const REVERTED = 500

const CALLS_MAX = 100

const hexNumber = (value: number) => `0x${value.toString(16)}`

const callsOf = (request: Readonly<Record<string, unknown>>) => {
  const calls = Array.isArray(request.calls) ? request.calls : []
  if (calls.length === 0 || !calls.every(isObject)) throw new ProviderError(-32602, 'There must be at least one call.')
  if (calls.length > CALLS_MAX) throw new ProviderError(TOO_LARGE, `A batch has at most ${CALLS_MAX} calls.`)
  const required = [request.capabilities, ...calls.map((each) => each.capabilities)].flatMap((each) =>
    Object.entries(isObject(each) ? each : {}).filter(([, value]) => !isObject(value) || value.optional !== true),
  )
  if (required.length > 0) throw new ProviderError(UNSUPPORTED_CAPABILITY, `${required[0]?.[0]} is not supported.`)
  return calls.map(({ to, value, data }) =>
    unsignedOf({ to: String(to), value: String(value ?? '0x0'), data: String(data ?? '0x') }),
  )
}

const codeOf = ({ status, code }: TransactionStatus): number => {
  switch (status) {
    case 'success':
      return CONFIRMED
    case 'failed':
      return code === 'execution_reverted' ? REVERTED : FAILED_OFFCHAIN
    default:
      return PENDING
  }
}

/** EIP-5792's receipt: six fields of the node's. */
const shownReceipt = (receipt: unknown): readonly unknown[] => {
  if (!isObject(receipt)) return []
  const { logs, status, blockHash, blockNumber, gasUsed, transactionHash } = receipt
  return [{ logs, status, blockHash, blockNumber, gasUsed, transactionHash }]
}

export const createBatches = ({ walletOn, own, chainIds, type, receipt }: Parts) => {
  /** By the id that the app chose, or by `chainId:transactionId`, which outlives this page. */
  const chosen = new Map<string, Sent>()
  const sentAs = (id: string): Sent => {
    const [, chainId, transactionId] = /^(\d+):([0-9a-f-]{36})$/.exec(id) ?? []
    const sent = chosen.get(id) ?? (chainId && transactionId ? { transactionId, chainId: Number(chainId) } : undefined)
    if (sent === undefined) throw new ProviderError(UNKNOWN_ID, `No calls are known as ${id}.`)
    return sent
  }

  const send = async (request: Readonly<Record<string, unknown>>) => {
    own(request.from)
    const calls = callsOf(request)
    const chainId = Number(request.chainId)
    const wallet = walletOn(chainId)
    const id = typeof request.id === 'string' ? request.id : undefined
    if (id !== undefined && chosen.has(id)) throw new ProviderError(DUPLICATE_ID, `The id ${id} was used before.`)
    const [first] = calls
    const isBatch = calls.length > 1
    if (isBatch && type === 'eoa')
      throw new ProviderError(NOT_ATOMIC, 'Only a wallet of type contract sends several calls at once.')
    const fields = await signerFields(wallet)
    const options = id === undefined ? {} : { idempotencyKey: id }
    const { transactions } = wallet.client
    const { transaction_id } = isBatch
      ? await transactions.batchSignAndSend({ ...fields, unsigned_transactions: calls }, options)
      : await transactions.signAndSend({ ...fields, unsigned_transaction: first ?? {} }, options)
    if (id !== undefined) chosen.set(id, { transactionId: transaction_id, chainId })
    return { id: id ?? `${chainId}:${transaction_id}` }
  }

  const transactionOf = async ({ transactionId, chainId }: Sent): Promise<TransactionStatus> => {
    const { client } = walletOn(chainId)
    try {
      return await client.transactions.statusById({ id: transactionId })
    } catch (error) {
      if (error instanceof StrongroomError && error.code === 'transaction_not_found')
        throw new ProviderError(UNKNOWN_ID, `No calls are known as ${transactionId}.`)
      throw error
    }
  }

  const status = async (id: string) => {
    const sent = sentAs(id)
    const transaction = await transactionOf(sent)
    const isMined = transaction.status === 'success' || transaction.code === 'execution_reverted'
    const hash = isMined ? transaction.transaction_hash : null
    return {
      version: VERSION,
      id,
      chainId: hexNumber(sent.chainId),
      status: codeOf(transaction),
      atomic: true,
      receipts: hash === null ? [] : shownReceipt(await receipt(sent.chainId, hash)),
    }
  }

  const capabilities = (params: unknown) => {
    const [address, wanted] = Array.isArray(params) ? params : []
    own(address)
    const shown = chainIds.filter((id) => !Array.isArray(wanted) || wanted.map(Number).includes(id))
    const atomic = { status: type === 'contract' ? 'supported' : 'unsupported' }
    return Object.fromEntries(shown.map((id) => [hexNumber(id), { atomic }]))
  }

  return { send, status, capabilities }
}
