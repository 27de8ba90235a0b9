// Assets on a local Asset Hub that take the fee of an extrinsic, and wallets that have some.

import type { Hex } from '../../src/chains/chain.ts'
import { createRpc } from '../../src/chains/node/rpc.ts'
import { createRuntimes } from '../../src/chains/substrate/runtime.ts'
import { storageKey } from '../../src/chains/substrate/storage.ts'
import type { Service } from '../support/service.ts'
import type { TestSubstrateChain } from '../support/substrate.ts'

export const LEAST = 10_000n

/**
 * Makes the assets 1984, which is sufficient, 7, which is not, and 8, which is frozen.
 * @param input.to who gets what is sent, and has made the assets
 */
export const startFeeAssets = async (input: {
  readonly chain: TestSubstrateChain
  readonly service: Service
  readonly to: string
}) => {
  const { chain, service, to } = input
  const { network } = chain
  const rpc = createRpc({ rpcUrl: chain.wsUrl, network })
  const latest = (await chain.rpc('chain_getBlockHash')) as Hex
  const runtime = await createRuntimes({ rpc, network, ss58Prefix: 0 }).at(latest)

  /** A value in a map of pallet Assets. */
  const entryOf = (entry: string, parts: readonly unknown[], value: object): readonly [Hex, string] => {
    const map = runtime.storage.assets?.[entry]?.meta.type
    if (map === undefined) throw new Error(`no map assets.${entry}`)
    const type = runtime.registry.createLookupType(map.asMap.value)
    return [storageKey(runtime, 'assets', entry, parts), runtime.registry.createType(type, value).toHex()]
  }
  const write = async (...entries: readonly (readonly [Hex, string])[]): Promise<void> => {
    await chain.rpc('dev_setStorage', [entries])
    await chain.newBlock()
  }
  const assetOf = (more: object) => ({
    ...{ owner: to, issuer: to, admin: to, freezer: to, supply: 10n ** 12n, minBalance: LEAST },
    ...{ isSufficient: true, accounts: 1, ...more },
  })
  await write(
    entryOf('asset', [1984], assetOf({})),
    entryOf('metadata', [1984], { name: 'Tether USD', symbol: 'USDT', decimals: 6 }),
    entryOf('asset', [7], assetOf({ isSufficient: false })),
    entryOf('asset', [8], assetOf({ isFrozen: true })),
  )

  /** Makes one more sufficient asset. */
  const makeAsset = (id: number): Promise<void> =>
    write(
      entryOf('asset', [id], assetOf({})),
      entryOf('metadata', [id], { name: `Asset ${id}`, symbol: `A${id}`, decimals: 6 }),
    )

  const giveAsset = (address: string, balance: bigint): Promise<void> =>
    write(entryOf('account', [1984, address], { balance, reason: 'Sufficient' }))

  const walletWith = async ({ planck, asset }: { readonly planck: bigint; readonly asset: bigint }) => {
    const { address } = await service.newWallet({ network })
    await chain.fund(address, planck)
    if (asset > 0n) await giveAsset(address, asset)
    return address
  }

  const bodyOf = (from: string, unsigned: object) => ({
    ...{ network, signer_wallet_address: from, developer_secret: 'testnet-secret' },
    unsigned_transaction: { to, value: '5', asset_id: '1984', ...unsigned },
  })
  const send = (from: string, unsigned: object = {}) =>
    service.post('/transactions/sign-and-send', bodyOf(from, unsigned))
  const sign = (from: string, unsigned: object = {}) => service.post('/transactions/sign', bodyOf(from, unsigned))
  const preview = (from: string, unsigned: object = {}) => {
    const { unsigned_transaction } = bodyOf(from, unsigned)
    return service.post('/transactions/preview', { network, from, unsigned_transaction })
  }

  /** The balances of the coin and of the asset. */
  const held = async (address: string): Promise<readonly [bigint, bigint]> => {
    const { coin, tokens } = await service.ctx.chains.withNode(network).balances({ address, contracts: ['asset:1984'] })
    return [coin, tokens.get('asset:1984') ?? 0n]
  }

  return { runtime, makeAsset, giveAsset, walletWith, send, sign, preview, held }
}

export type FeeAssets = Awaited<ReturnType<typeof startFeeAssets>>
