import { expect, test } from 'bun:test'
import { type Activity, describeActivity } from '../../src/assets/activity/list.ts'
import { createNodelessEvmChain } from '../../src/chains/evm/nodeless.ts'
import { evmNetworkRow } from '../../src/platform/networks.ts'

const base = createNodelessEvmChain(evmNetworkRow({ network: 'Base', environment: 'testnet', devnet: true }))

const activity = (movement: Partial<Activity['movement']>, decimals: number): Activity => ({
  movement: {
    id: '5f0c2d1e-6a3b-4c8d-9e7f-0a1b2c3d4e5f',
    network: 'Base',
    address: '0x70997970C51812dc3A010C7d01b50e0d17dc79C8',
    counterparty: '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266',
    direction: 'in',
    contract: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
    tokenId: null,
    amount: 1_500n,
    transactionHash: '0x00',
    at: new Date(0),
    initiatedBy: null,
    ...movement,
  },
  facts: { name: 'Odd', symbol: 'ODD', decimals },
})

test('the event decides whether it is an NFT, not what the contract claims to be', () => {
  const item = describeActivity(base, activity({ tokenId: 7n, amount: 1n }, 18))
  expect(item).toMatchObject({
    type: 'receive_nft',
    metadata: { amount: '1', token_id: '7' },
    token: { decimals: 0, display_decimals: 0 },
  })
})

test('a contract that claims 255 decimals gets an exact amount', () => {
  expect(describeActivity(base, activity({}, 255)).metadata).toEqual({ amount: `0.${'0'.repeat(251)}15` })
})

test('each direction of each kind has its type', () => {
  const types = (['in', 'out'] as const).flatMap((direction) =>
    [null, 1n].map((tokenId) => describeActivity(base, activity({ direction, tokenId }, 0)).type),
  )
  expect(types).toEqual(['receive_token', 'receive_nft', 'send_token', 'send_nft'])
})

test('names both ends, if the other one is known', () => {
  const [wallet, other] = ['0x70997970C51812dc3A010C7d01b50e0d17dc79C8', '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266']
  expect(describeActivity(base, activity({}, 0))).toMatchObject({ from: other, to: wallet })
  expect(describeActivity(base, activity({ direction: 'out' }, 0))).toMatchObject({ from: wallet, to: other })
  expect(describeActivity(base, activity({ counterparty: null }, 0))).not.toHaveProperty('from')
})

test('names who caused it, if that is known', () => {
  const initiatedBy = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
  expect(describeActivity(base, activity({ initiatedBy }, 0))).toMatchObject({ initiated_by: initiatedBy })
  expect(describeActivity(base, activity({ tokenId: 1n, initiatedBy }, 0))).toMatchObject({ initiated_by: initiatedBy })
  expect(describeActivity(base, activity({}, 0))).not.toHaveProperty('initiated_by')
})

test('a token list sets how a token is displayed, but not how its amount is computed', () => {
  const display = { logoUrl: 'https://example.com/odd.png', displayDecimals: 9 }
  expect(describeActivity(base, { ...activity({}, 3), display })).toMatchObject({
    metadata: { amount: '1.5' },
    token: { decimals: 3, display_decimals: 3, logo_url: display.logoUrl },
  })
})
