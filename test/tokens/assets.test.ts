// Assets of pallet Assets and the coin, through the API and a worker, on a local Asset Hub.

import { expect, test } from 'bun:test'
import { encodeAddress } from '@polkadot/util-crypto'
import { longTest } from '../support/long.ts'
import { type Answer, startService } from '../support/service.ts'
import { shared } from '../support/shared.ts'
import { devAccount, startSubstrateChain } from '../support/substrate.ts'
import { startWorkerHere } from '../support/worker-here.ts'
import { activityIn } from './world.ts'

const network = 'Polkadot'
const SECRET = { developer_secret: 'testnet-secret' }

const succeeded = async (answer: Answer) => {
  if (answer.json?.status !== 'submitted') throw new Error(`not submitted: ${answer.text}`)
  const { json } = await service.settled(answer.json.transaction_id)
  if (json.status !== 'success') throw new Error(`not successful: ${JSON.stringify(json)}`)
  return json
}

const newWallet = async (): Promise<string> => {
  const { address } = await service.newWallet({ network })
  await chain.fund(address)
  await chain.newBlock()
  return address
}

const create = (body: object) => service.post('/tokens', { network, from: alice, ...SECRET, ...body })
const mint = (body: object) => service.post('/tokens/mint', { network, from: alice, ...SECRET, ...body })
const transfer = (body: object) => service.post('/tokens/transfer', { network, from: alice, ...SECRET, ...body })
const batch = (body: object) => service.post('/tokens/batch-transfer', { network, from: alice, ...SECRET, ...body })
const told = ({ status, json }: Answer) => [status, json.code ?? json.status]

const POINTS = { name: 'Points', symbol: 'PNT', decimals: '6', initial_supply: '1000.000001' }

const chain = await shared(startSubstrateChain(network))
const service = await shared(startService({ rpcUrls: { [network]: chain.wsUrl } }))
await shared(startWorkerHere(service))
const [alice, bob] = [await newWallet(), await newWallet()]
const token = (await succeeded(await create({ ...POINTS, logo_url: 'https://example.com/p.png' }))).contract_address

const activityOf = activityIn(service, network)

const held = async (wallet: string, asset = token): Promise<string> => {
  const { json } = await service.get('/tokens/balances', { network, wallet_address: wallet })
  type Held = { readonly contract_address: string; readonly display_balance: string }
  return (json as Held[]).find(({ contract_address }) => contract_address === asset)?.display_balance ?? '0'
}

test('an asset is created with its description and supply, and its id is in the status', async () => {
  expect(token).toMatch(/^asset:[0-9]+$/)
  expect((await service.get('/tokens/tokens', { network, token })).json).toMatchObject({
    contract_address: token,
    name: 'Points',
    symbol: 'PNT',
    decimals: 6,
    logo_url: 'https://example.com/p.png',
  })
  expect((await service.get('/tokens/tokens', { network, token: 'DOT' })).json.decimals).toBe(10)
})

test('it is minted by its issuer alone, transferred exactly, and the activity shows the amounts', async () => {
  const minted = await succeeded(await mint({ contract_address: token, recipient: bob, amount: '2.5' }))
  expect(minted.contract_address).toBeNull()
  expect(await activityOf(bob, minted)).toEqual([['receive_token', '2.5', 'PNT']])
  expect(told(await mint({ from: bob, contract_address: token, amount: '1' }))).toEqual([400, 'mint_unauthorized'])
  const sent = await succeeded(await transfer({ token, recipient: bob, amount: '0.000001' }))
  expect(await activityOf(alice, sent)).toEqual([['send_token', '0.000001', 'PNT']])
  expect(await held(bob)).toBe('2.500001')
  expect(await held(alice)).toBe('1000')
}, 60_000)

longTest(
  'several transfers are one batch: all of them, or nothing',
  async () => {
    const other = await newWallet()
    const transfers = [
      { recipient: bob, amount: '1' },
      { recipient: other, amount: '2' },
    ]
    const sent = await succeeded(await batch({ token, transfers }))
    expect(sent.contract_address).toBeNull()
    expect(await activityOf(alice, sent)).toEqual([
      ['send_token', '1', 'PNT'],
      ['send_token', '2', 'PNT'],
    ])
    // This runtime cannot run a call in advance, so the transaction fails in its block.
    const tooMuch = [...transfers, { recipient: bob, amount: '999999' }]
    const { json } = await service.settled((await batch({ token, transfers: tooMuch })).json.transaction_id)
    expect(json).toMatchObject({ status: 'failed', code: 'execution_reverted' })
    expect(await held(other)).toBe('2')
    const coins = await succeeded(await batch({ token: 'DOT', transfers }))
    expect(await activityOf(other, coins)).toEqual([['receive_token', '2', 'DOT']])
  },
  60_000,
)

test('what the network cannot do or keep is refused with the name of the field', async () => {
  const named = (body: object) => create({ ...POINTS, ...body })
  for (const [answer, field, code] of [
    [await named({ name: 'ü'.repeat(26) }), 'name', 'invalid_input'],
    [await named({ initial_supply: String(2n ** 128n / 10n ** 6n + 1n) }), 'initial_supply', 'invalid_input'],
    [await mint({ contract_address: token, amount: String(2n ** 128n) }), 'amount', 'invalid_input'],
    [await mint({ contract_address: token, amount: '0.0000001' }), 'amount', 'invalid_input'],
    [await mint({ contract_address: 'asset:4294967295', amount: '1' }), 'contract_address', 'invalid_input'],
    [await mint({ contract_address: '7', amount: '1' }), 'contract_address', 'address_invalid'],
    [await transfer({ token: `0x${'12'.repeat(20)}`, recipient: bob, amount: '1' }), 'token', 'network_mismatch'],
    [await transfer({ token: 'ETH', recipient: bob, amount: '1' }), 'token', 'address_invalid'],
    [await transfer({ token: 'DOT', recipient: bob, amount: '0.00000000001' }), 'amount', 'invalid_input'],
    [await transfer({ token, recipient: bob, amount: '0' }), 'amount', 'invalid_input'],
  ] as const) {
    expect([answer.json.code, answer.json.error]).toEqual([code, expect.stringContaining(`"${field}"`)])
  }
  const wrong = encodeAddress((await devAccount('Bob')).publicKey, 42)
  expect(told(await transfer({ token, recipient: wrong, amount: '1' }))).toEqual([400, 'network_mismatch'])
  expect(told(await service.get('/tokens/tokens', { network, token: 'asset:4294967295' }))).toEqual([404, 'not_found'])
})

longTest(
  'a network whose tokens are programs has only its coin',
  async () => {
    // Nothing listens at this port.
    const vara = await startService({ rpcUrls: { Vara: 'http://127.0.0.1:9' } })
    try {
      const refused = {
        error: 'Tokens of Vara are programs, which this service does not handle; it transfers the coin.',
        code: 'not_implemented',
      }
      const { address: from } = await vara.newWallet({ network: 'Vara' })
      for (const answer of [
        await vara.post('/tokens', { ...POINTS, network: 'Vara', ...SECRET }),
        await vara.post('/tokens/mint', { network: 'Vara', contract_address: '0x12', amount: '1', ...SECRET }),
        await vara.post('/tokens/transfer', { from, token: '0x12', recipient: from, amount: '1', ...SECRET }),
        await vara.get('/tokens/tokens', { network: 'Vara', token: '0x12' }),
      ]) {
        expect([answer.status, answer.json]).toEqual([501, refused])
      }
      expect((await vara.get('/tokens/tokens', { network: 'Vara', token: 'VARA' })).json.decimals).toBe(12)
    } finally {
      await vara.close()
    }
  },
  30_000,
)
