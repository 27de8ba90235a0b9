import { allHandlers, type Handlers, ResponseError } from '@acala-network/chopsticks-core'
import type { LocalChain, Messages } from './chopsticks-chain.ts'
import { accountKey, publicKeyFrom, readFree, TOTAL_ISSUANCE_KEY, withFree, withIssuance } from './substrate-account.ts'

// The methods that control a local Substrate chain, which real nodes do not have.

/** The settings of the chain. */
export type Manners = {
  /** Whether each extrinsic gets a block at once; otherwise blocks come only on command or by the clock. */
  instant: boolean
  /** How many blocks finality lags behind the newest block. */
  finalityLagBlocks: number
}

/** The subscriptions of a connection; HTTP has none. */
export type Subscriptions = Parameters<Handlers[string]>[2]
/** Methods by name. */
export type Own = Readonly<
  Record<string, (params: readonly unknown[], subscriptions: Subscriptions) => Promise<unknown> | unknown>
>

type Hex = `0x${string}`
type Change = (chain: LocalChain, params: readonly unknown[]) => Promise<unknown>

/** The well-known key of a runtime (sp_storage, CODE): `:code`. */
const CODE_KEY = '0x3a636f6465'

export const isHex = (value: unknown): value is Hex => typeof value === 'string' && /^0x[0-9a-f]*$/i.test(value)

/** @throws ResponseError like a node for malformed parameters */
export const refuseParameters = (right: string): never => {
  throw new ResponseError(-32602, `Invalid params: expected ${right}`)
}

const noSubscriptions = (): never => {
  throw new ResponseError(-32601, 'Method not found: subscriptions need a WebSocket')
}
/** For requests over HTTP. */
export const NO_SUBSCRIPTIONS: Subscriptions = { subscribe: noSubscriptions, unsubscribe: noSubscriptions }

/** @param params an account (SS58 or public key) and its new free balance, a decimal string in base units */
const setBalance: Change = async ({ chain, changeHead }, params) => {
  const [account, planck] = params
  if (typeof account !== 'string' || typeof planck !== 'string' || !/^[0-9]+$/.test(planck)) {
    return refuseParameters('an account and a decimal string')
  }
  const key = accountKey(publicKeyFrom(account))
  return changeHead(async () => {
    const [before, issuance] = [await chain.head.get(key), await chain.head.get(TOTAL_ISSUANCE_KEY)]
    chain.head.pushStorageLayer().setAll([
      [key, withFree(before, BigInt(planck))],
      [TOTAL_ISSUANCE_KEY, withIssuance(issuance, BigInt(planck) - readFree(before))],
    ])
    return null
  })
}

/** @param params a list of pairs of key and value (null deletes), or chopsticks' object by pallet and item */
const setStorage: Change = async ({ chain, changeHead }, params) => {
  const code: unknown = Array.isArray(params[0]) ? params[0].find(([key]) => key === CODE_KEY)?.[1] : undefined
  return changeHead(async () => {
    const hash = await allHandlers.dev_setStorage?.({ chain }, [params[0]], NO_SUBSCRIPTIONS)
    // What a block knows of its runtime is remembered, but for this.
    if (isHex(code)) chain.head.setWasm(code)
    return hash
  })
}

/** @param params how many blocks, and what other chains sent to the first of them */
const newBlocks: Change = async (local, [wish]) => {
  const { count = 1, messages } = (wish ?? {}) as { readonly count?: unknown; readonly messages?: Messages }
  let hash: Hex = local.chain.head.hash
  for (let built = 0; built < Number(count); built += 1) hash = await local.newBlock(built === 0 ? messages : {})
  return hash
}

/** What rules a chain. @param input.answers what methods answer with in place of their own */
export const devMethods = (
  local: LocalChain,
  input: { readonly manners: Manners; readonly answers: Map<string, unknown>; readonly build: () => void },
): Own => ({
  dev_setBalance: (params) => setBalance(local, params),
  dev_setStorage: (params) => setStorage(local, params),
  dev_newBlock: (params) => newBlocks(local, params),
  dev_setHead: (params) =>
    local.changeHead(async () => allHandlers.dev_setHead?.({ chain: local.chain }, [...params], NO_SUBSCRIPTIONS)),
  dev_setManners: ([changes]) => {
    Object.assign(input.manners, changes)
    input.build()
    return null
  },
  // From now on a method answers with something else; with no answer given, with its own again.
  dev_setAnswer: ([method, ...answer]) => {
    if (answer.length > 0) input.answers.set(String(method), answer[0])
    else input.answers.delete(String(method))
    return null
  },
})
