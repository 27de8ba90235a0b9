// Everything that an EVM network has, on a network added by a file: its own chain id and coin, and a worker that
// follows it.

import { afterAll, beforeAll, expect, test } from 'bun:test'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AnyElysia } from 'elysia'
import { parseTransaction, type TransactionSerializedEIP1559 } from 'viem'
import { NETWORKS_FILE } from '../../devnet/networks.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { NETWORKS } from '../../src/platform/networks.ts'
import { startChain, type TestChain } from '../support/chains.ts'
import { isLong, longTest } from '../support/long.ts'
import { type Service, startService } from '../support/service.ts'

const network = 'Harbor'
const SECRET = 'testnet-secret'
const PIN = '493817'
const ORACLE = '0x420000000000000000000000000000000000000F'
/** The network of the dev stack, as one of the OP stack. */
const OP_STACK_FILE = join(tmpdir(), `strongroom-op-stack-${process.pid}.json`)
const COIN = { network, contract_address: 'HARB', name: 'Harbor Coin', symbol: 'HARB', decimals: 18 }

let chain: TestChain
let service: Service

beforeAll(async () => {
  chain = await startChain(network, { chainId: 31_338 })
  const { address } = await chain.deploy('JovianOracle', [400_000n, 1_234_567n, 7_000n])
  await chain.rpc('anvil_setCode', [ORACLE, await chain.publicClient.getCode({ address })])
  const [harbor] = JSON.parse(readFileSync(NETWORKS_FILE, 'utf8'))
  writeFileSync(OP_STACK_FILE, JSON.stringify([{ ...harbor, gas_price_oracle: ORACLE }]))
  service = await startService({
    rpcUrls: { [network]: chain.rpcUrl },
    variables: { NETWORKS_FILE: OP_STACK_FILE, HARBOR_MAX_FEE_GWEI: '7' },
  })
  // Only what is sent needs one.
  if (isLong) service.startWorker()
})
afterAll(async () => {
  await service.close()
  await chain.stop()
  rmSync(OP_STACK_FILE, { force: true })
})

const funded = async (): Promise<`0x${string}`> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  return address
}

const activity = async (address: string, count: number) => {
  for (let tries = 0; ; tries += 1) {
    const { json } = await service.get('/activity', { network, wallet_address: address })
    if (json.length >= count || tries > 200) return json
    await Bun.sleep(50)
  }
}

longTest('a transfer of its coin is previewed, signed and sent, and listed for both wallets', async () => {
  const [from, to] = [await funded(), (await service.newWallet({ network, pin: '493817' })).address]
  const unsigned_transaction = { to, value: '1500000000000000000' }
  const preview = await service.post('/transactions/preview', { network, from, unsigned_transaction })
  expect(preview.json.simulation).toMatchObject({ success: true, asset_changes: [{ amount: '1.5', token: COIN }] })

  // The address is only on this network, so the request need not name the network.
  const body = { signer_wallet_address: from, unsigned_transaction, developer_secret: SECRET }
  const sent = await service.post('/transactions/sign-and-send', body)
  expect(sent.json).toMatchObject({ network, status: 'submitted' })
  expect((await service.settled(sent.json.transaction_id)).json.status).toBe('success')
  const [received] = await activity(to, 1)
  expect(received).toMatchObject({ network, type: 'receive_token', metadata: { amount: '1.5' }, token: COIN })
  const balances = await service.get('/tokens/balances', { network, wallet_address: to })
  expect(balances.json).toEqual([expect.objectContaining({ ...COIN, display_balance: '1.5' })])

  const signed = await service.post('/transactions/sign', { ...body, network })
  const hash = (await chain.rpc('eth_sendRawTransaction', [signed.json])) as `0x${string}`
  expect(await chain.receiptOf(hash)).toMatchObject({ status: 'success', from: from.toLowerCase() })
  const status = await service.get('/transactions/status-by-hash', { network, transaction_hash: hash })
  expect(status.json).toMatchObject({ network, status: 'success' })
})

longTest('a collection is created there, and an NFT of it minted and listed', async () => {
  const own = await service.get('/wallets/get-by-owner-id', { network, owner_id: service.project.projectId })
  await chain.fund(own.json.address)
  const { address } = await service.newWallet({ network })
  const names = {
    network,
    name: 'Berths',
    symbol: 'BRTH',
    image_url: 'https://example.com/berths.png',
    developer_secret: SECRET,
  }
  const created = await service.settled((await service.post('/nfts/collections', names)).json.transaction_id)
  const { contract_address } = created.json
  const item = { network, contract_address, recipient: address, uri: 'ipfs://berth', developer_secret: SECRET }
  const minted = await service.settled((await service.post('/nfts/mint', item)).json.transaction_id)
  expect(minted.json.status).toBe('success')
  const [received] = await activity(address, 1)
  expect(received).toMatchObject({ network, type: 'receive_nft', token: { name: 'Berths', contract_address } })
  const held = await service.get('/nfts', { network, wallet_address: address })
  expect(held.json).toMatchObject([{ contract_address, owner_wallet_address: address }])
})

test('the fees of the OP stack beside gas are charged to the budget of a policy, for the whole gas limit', async () => {
  const { address } = await service.newWallet({ network, pin: PIN })
  await chain.fund(address)
  const gas = { gasLimit: '42000', maxFeePerGas: '1000000000', maxPriorityFeePerGas: '1000000' }
  // A quarter above 400,000, and by Jovian's formula gas * 1,234,567 * 100 + 7,000.
  const fee = 42_000n * 1_000_000_000n + 500_000n + 5_185_181_407_000n
  const sign = () =>
    service.post('/transactions/sign', {
      ...{ network, signer_wallet_address: address, developer_secret: SECRET },
      unsigned_transaction: { to: address, value: '1', ...gas },
    })
  const grant = async (max_total_fee: bigint) => {
    const argument_rules = [{ argument: 'to', operator: 'eq', value: address }]
    const who = { network, wallet_address: address, developer_secret: SECRET, user_pin: PIN }
    return service.post('/policies', { ...who, argument_rules, max_total_fee: String(max_total_fee) })
  }
  await grant(fee - 1n)
  expect((await sign()).json).toMatchObject({ code: 'policy_denied' })
  const { json: policy } = await grant(fee)
  const signed = await sign()
  expect(signed.json).toBeString()
  expect(parseTransaction(signed.json as TransactionSerializedEIP1559)).toMatchObject({ gas: 42_000n })
  const policies = (await service.get('/policies', { network, wallet_address: address })).json
  expect(policies.find(({ uuid }: { uuid: string }) => uuid === policy.uuid)).toMatchObject({ spent_fee: String(fee) })
})

test('its name is in the OpenAPI document, and in the error for an unknown network', async () => {
  const document = await service.get('/openapi/json')
  expect(document.json.components.schemas.Network.enum).toEqual([...NETWORKS, network])
  const wrong = await service.get('/wallets', { network: 'harbor' })
  expect(wrong.json).toEqual({
    error: `Field "network" must be one of ${NETWORKS.join(', ')}, Harbor.`,
    code: 'invalid_input',
  })
  expect((await service.get('/readyz')).json).toEqual({
    status: 'ready',
    networks: { [network]: 'ready' },
    nodes: { [`${network}#1`]: 'up' },
  })
})

test('the maximum fee is set by its variable', () => {
  const { feeRules } = service.ctx.chains.withNode(network)
  const offer = (gwei: bigint) => ({ to: null, value: 0n, input: '0x', maxFeePerGas: gwei * 1_000_000_000n }) as const
  expect([7n, 8n].map((gwei) => feeRules.isWithinFeeCap(offer(gwei)))).toEqual([true, false])
})

longTest(
  'a process that does not know the network can run at the same time, and serves the networks that it knows',
  async () => {
    const config = readConfig({ ...service.variables, NETWORKS_FILE: '' })
    const old = await createApiCtx({ config, process: 'old' })
    try {
      const answerOf = async (app: AnyElysia, name: string) => {
        const headers = {
          authorization: `Bearer ${service.project.apiKey}`,
          'x-walletkit-project-id': service.project.projectId,
        }
        return (await app.handle(new Request(`http://localhost/wallets?network=${name}`, { headers }))).status
      }
      const [before, after] = [createApp(old), createApp(service.ctx)]
      expect([await answerOf(before, 'Polkadot'), await answerOf(before, network)]).toEqual([200, 400])
      expect([await answerOf(after, 'Polkadot'), await answerOf(after, network)]).toEqual([200, 200])
    } finally {
      await old.db.close({ timeoutSeconds: 5 })
    }
  },
)
