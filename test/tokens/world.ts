// A service on a local chain, with a worker, for tests of tokens.

import { setTimeout as sleep } from 'node:timers/promises'
import type { Address } from 'viem'
import type { Network } from '../../db/words.ts'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { startWorkerHere } from '../support/worker-here.ts'

export const network = 'Ethereum'
export const SECRET = { developer_secret: 'testnet-secret' }

type Item = {
  readonly type: string
  readonly transaction_hash: string
  readonly metadata: { readonly amount: string }
  readonly token: { readonly symbol: string }
}

/** What a wallet's activity shows of a transaction, once the indexer has seen its block. */
export const activityIn =
  (service: Pick<Service, 'get'>, network: Network) =>
  async (wallet: string, { transaction_hash: hash }: { readonly transaction_hash: string }) => {
    for (const deadline = Date.now() + 60_000; Date.now() < deadline; await sleep(50)) {
      const { json } = await service.get('/activity', { network, wallet_address: wallet })
      const own = (json as Item[]).filter(({ transaction_hash }) => transaction_hash === hash)
      if (own.length > 0) return own.map(({ type, metadata, token }) => [type, metadata.amount, token.symbol]).sort()
    }
    throw new Error('the activity did not come')
  }

export const startTokenWorld = async () => {
  const chain: TestChain = await startChain(network, { flags: ['--slots-in-an-epoch', '1'] })
  await deployCanonicalContracts(chain.rpcUrl)
  const service: Service = await startService({ rpcUrls: { [network]: chain.rpcUrl } })
  const worker = await startWorkerHere(service)

  const succeeded = async (answer: Answer) => {
    if (answer.json?.status !== 'submitted') throw new Error(`not submitted: ${answer.text}`)
    const { json } = await service.settled(answer.json.transaction_id)
    if (json.status !== 'success') throw new Error(`not successful: ${JSON.stringify(json)}`)
    return json
  }

  const newWallet = async (type: 'eoa' | 'contract' = 'eoa'): Promise<Address> => {
    const body = { network, name: 'A wallet', type, control_mode: 'developer', ...SECRET }
    const { address } = (await service.post('/wallets', body)).json
    await chain.fund(address)
    if (type === 'eoa') return address
    // Only the error about missing coins names the key of a contract wallet.
    const poor = {
      network,
      signer_wallet_address: address,
      unsigned_transaction: { to: address, value: '0' },
      ...SECRET,
    }
    const { json } = await service.post('/transactions/sign-and-send', poor)
    const [key] = /^0x[0-9a-fA-F]{40}/.exec(json.error) ?? []
    await chain.fund(key as Address)
    return address
  }

  /** Creates a token. @returns the status of the transaction, with the token's contract */
  const create = async (from: Address, rest: object = {}) => {
    const token = { network, from, name: 'Points', symbol: 'PNT', decimals: '6', initial_supply: '1000', ...rest }
    return succeeded(await service.post('/tokens', { ...token, ...SECRET }))
  }

  const transfer = (body: object) => service.post('/tokens/transfer', { network, ...SECRET, ...body })
  const batch = (body: object) => service.post('/tokens/batch-transfer', { network, ...SECRET, ...body })
  const mint = (body: object) => service.post('/tokens/mint', { network, ...SECRET, ...body })

  /** The balance as the API shows it; '0' if it does not show the token. */
  const held = async (wallet: string, token: string): Promise<string> => {
    const { json } = await service.get('/tokens/balances', { network, wallet_address: wallet })
    type Held = { readonly contract_address: string; readonly display_balance: string }
    return (json as Held[]).find(({ contract_address }) => contract_address === token)?.display_balance ?? '0'
  }

  const stop = async () => {
    await worker.stop()
    await service.close()
    await chain.stop()
  }
  return {
    chain,
    service,
    succeeded,
    newWallet,
    create,
    transfer,
    batch,
    mint,
    held,
    activityOf: activityIn(service, network),
    stop,
  }
}

export type TokenWorld = Awaited<ReturnType<typeof startTokenWorld>>
