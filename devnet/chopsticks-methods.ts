import { allHandlers, ResponseError } from '@acala-network/chopsticks-core'
import { TypeRegistry } from '@polkadot/types'
import type { LocalChain } from './chopsticks-chain.ts'
import {
  devMethods,
  isHex,
  type Manners,
  type Own,
  refuseParameters,
  type Subscriptions,
} from './chopsticks-dev-methods.ts'
import { PoolError } from './chopsticks-pool.ts'

/**
 * The RPC methods of a local Substrate chain: those of chopsticks, those where a real node behaves differently, and
 * those that control the chain (`dev_…`).
 */
export type Methods = (request: Request, subscriptions: Subscriptions) => Promise<unknown>

/** A JSON-RPC request. */
type Request = { readonly method: string; readonly params: readonly unknown[] }

type Hex = `0x${string}`
type Head = LocalChain['chain']['head']

/** The index of the parameter that must name an existing block. */
const BLOCK_AT: Readonly<Record<string, number>> = {
  state_getMetadata: 0,
  state_getRuntimeVersion: 0,
  state_getStorage: 1,
  state_getStorageAt: 1,
  state_call: 2,
  state_queryStorageAt: 1,
  state_getKeysPaged: 3,
  payment_queryInfo: 1,
  payment_queryFeeDetails: 1,
}

type Header = Awaited<Head['header']>

const shownHeader = ({ parentHash, number, stateRoot, extrinsicsRoot, digest }: Header) => ({
  parentHash: parentHash.toHex(),
  number: number.toHex(),
  stateRoot: stateRoot.toHex(),
  extrinsicsRoot: extrinsicsRoot.toHex(),
  digest: { logs: digest.logs.map((log) => log.toHex()) },
})

/**
 * Blocks by hash, read from the archive: chopsticks needs a tenth of a second to rebuild an old block, and denies some
 * if more are requested at once than it holds in memory. null if the archive does not have it.
 */
const archivedOf = ({ archive }: LocalChain) => {
  const registry = new TypeRegistry()
  const header = (hash: Hex) => {
    const archived = archive.answer('chain_getHeader', [hash])
    return archived === null ? null : shownHeader(registry.createType('Header', archived) as Header)
  }
  const block = (hash: Hex) => {
    const archived = archive.answer('chain_getBlock', [hash]) as { block: { extrinsics: readonly Hex[] } } | null
    if (archived === null) return null
    return { block: { header: header(hash), extrinsics: archived.block.extrinsics }, justifications: null }
  }
  return { header, block, has: (hash: Hex) => archive.answer('chain_getHeader', [hash]) !== null }
}

const finalityOf = ({ chain }: LocalChain, manners: Manners) => {
  const finalized = async (): Promise<Head> => {
    const number = Math.max(0, chain.head.number - manners.finalityLagBlocks)
    return (await chain.getBlockAt(number)) ?? chain.head
  }
  const follow = (subscriptions: Subscriptions): string => {
    let sent = -1
    const notify = async () => {
      const last = (await finalized()).number
      for (let number = sent < 0 ? last : sent + 1; number <= last; number += 1) {
        const block = await chain.getBlockAt(number)
        if (block !== undefined) send(shownHeader(await block.header))
      }
      sent = last
    }
    const id = chain.headState.subscribeHead(notify)
    const send = subscriptions.subscribe('chain_finalizedHead', id, () => chain.headState.unsubscribeHead(id))
    setTimeout(notify)
    return id
  }
  return { finalized, follow }
}

/** A pause between notices, because a client that reads a block's events after one notice could miss the next one. */
const FINALIZED_AFTER_MS = 50

/** The states of an extrinsic, in order: ready, in a block, finalized. */
const watch = (
  local: LocalChain,
  extrinsic: Hex,
  input: { readonly subscriptions: Subscriptions; readonly finalized: () => Promise<Head> },
): string => {
  const { headState } = local.chain
  let included: Head | undefined
  const id = headState.subscribeHead(async (block) => {
    if (included === undefined && (await block.extrinsics).includes(extrinsic)) {
      included = block
      notify({ inBlock: block.hash })
    }
    if (included === undefined || (await input.finalized()).number < included.number) return
    const finalized = included.hash
    headState.unsubscribeHead(id)
    setTimeout(() => notify({ finalized }), FINALIZED_AFTER_MS)
  })
  const notify = input.subscriptions.subscribe('author_extrinsicUpdate', id, () => headState.unsubscribeHead(id))
  setTimeout(() => notify('ready'))
  return id
}

/** Builds blocks one after the other while extrinsics are ready, if the chain is instant. */
const builderOf = (local: LocalChain, manners: Manners) => {
  let [building, wanted] = [false, false]
  const build = async (): Promise<void> => {
    try {
      while (wanted) {
        wanted = false
        while (manners.instant && (await local.pool.ready()).length > 0) await local.newBlock()
      }
    } catch (error) {
      // Ready extrinsics are tried again with the next one.
      console.error('No block was built:', error)
    } finally {
      building = false
    }
  }
  return (): void => {
    wanted = true
    if (building) return
    building = true
    void build()
  }
}

type Finality = ReturnType<typeof finalityOf>
type Archived = ReturnType<typeof archivedOf>

const nodeMethods = (
  local: LocalChain,
  input: { readonly finality: Finality; readonly archived: Archived; readonly build: () => void },
): Own => {
  const { chain, pool, archive } = local
  const { finality, archived, build } = input
  const submit = async (extrinsic: unknown, watching?: Subscriptions): Promise<string> => {
    if (!isHex(extrinsic)) return refuseParameters('an extrinsic in hexadecimal')
    const hash = await pool.submit(extrinsic)
    const id = watching && watch(local, extrinsic, { subscriptions: watching, finalized: finality.finalized })
    build()
    return id ?? hash
  }
  return {
    author_submitExtrinsic: ([extrinsic]) => submit(extrinsic),
    author_submitAndWatchExtrinsic: ([extrinsic], subscriptions) => submit(extrinsic, subscriptions),
    author_pendingExtrinsics: () => pool.ready(),
    system_accountNextIndex: ([address]) => pool.nextNonce(String(address)),
    account_nextIndex: ([address]) => pool.nextNonce(String(address)),
    chain_getFinalizedHead: async () => (await finality.finalized()).hash,
    chain_subscribeFinalizedHeads: (_params, subscriptions) => finality.follow(subscriptions),
    chain_getHeader: async ([hash], subscriptions) => {
      if (isHex(hash) && archived.has(hash)) return archived.header(hash)
      if (isHex(hash) && !(await chain.getBlock(hash))) return null
      return allHandlers.chain_getHeader?.({ chain }, [hash], subscriptions)
    },
    chain_getBlock: async ([hash], subscriptions) => {
      if (isHex(hash) && archived.has(hash)) return archived.block(hash)
      if (isHex(hash) && !(await chain.getBlock(hash))) return null
      return allHandlers.chain_getBlock?.({ chain }, [hash], subscriptions)
    },
    state_getStorage: async ([key, hash], subscriptions) =>
      isHex(hash) && archived.has(hash)
        ? archive.answer('state_getStorage', [key, hash])
        : allHandlers.state_getStorage?.({ chain }, [key, hash], subscriptions),
  }
}

/** The methods of a chain. @param manners may change at any time */
export const createMethods = (local: LocalChain, manners: Manners): Methods => {
  const { chain } = local
  const archived = archivedOf(local)
  const answers = new Map<string, unknown>()
  const build = builderOf(local, manners)
  const own = {
    ...nodeMethods(local, { finality: finalityOf(local, manners), archived, build }),
    ...devMethods(local, { manners, answers, build }),
  }
  return async ({ method, params }, subscriptions) => {
    if (answers.has(method)) return answers.get(method)
    const at = BLOCK_AT[method]
    const hash = at === undefined ? undefined : params[at]
    if (isHex(hash) && !archived.has(hash) && (await chain.getBlock(hash)) === undefined) {
      throw new PoolError(4003, `Client error: UnknownBlock: Header was not found in the database: ${hash}`)
    }
    const mine = own[method]
    if (mine !== undefined) return mine(params, subscriptions)
    const handler = allHandlers[method]
    if (handler === undefined) throw new ResponseError(-32601, 'Method not found')
    return handler({ chain }, [...params], subscriptions)
  }
}
