// A node that lies while a policy judges: about contracts, names, nonces, fees, gas, code and metadata. Nothing may be
// signed or recorded that the policy forbids. Each lie is tested with its own API process, which has cached nothing.

import { afterAll, beforeAll, describe, expect, test } from 'bun:test'
import { randomUUID } from 'node:crypto'
import { decodeAddress, encodeAddress } from '@polkadot/util-crypto'
import postgres, { type Sql } from 'postgres'
import {
  decodeFunctionData,
  encodeAbiParameters,
  encodeFunctionData,
  type Hex,
  parseAbi,
  parseTransaction,
  type TransactionSerializedEIP1559,
  toHex,
} from 'viem'
import { callRpc } from '../../devnet/rpc.ts'
import { createApp } from '../../src/api/app.ts'
import { createApiCtx } from '../../src/main/contexts.ts'
import { readConfig } from '../../src/platform/config.ts'
import { listen } from '../../src/platform/http/listen.ts'
import { type Behaviour, startFakeNode } from '../chains/evm/fake-node.ts'
import { fundedAccount, startChain, type TestChain } from '../support/chains.ts'
import { withCallsSwapped, withNamesSwapped } from '../support/forged-metadata.ts'
import { isLeftOut, isLong, longTest, someOf } from '../support/long.ts'
import { type Answer, type Service, startService } from '../support/service.ts'
import { devAccount, startSubstrateChain, type TestSubstrateChain } from '../support/substrate.ts'

const PIN = '493817'
const SECRET = 'testnet-secret'
/** How the honest node answers. */
const REFUSED = [
  [403, 'policy_denied'],
  [400, 'nonce_gap'],
]

const told = ({ status, json }: Answer) => [status, json?.code ?? null]
const rule = (argument: string, operator: string, value: string) => ({ argument, operator, value })

const isHubLeftOut = isLeftOut('the lies of a Substrate node while a policy judges')

let service: Service
let sql: Sql
let chain: TestChain
/** Only in the long run. */
let hub: TestSubstrateChain | null = null
let node: ReturnType<typeof startFakeNode>
let hubNode: ReturnType<typeof startFakeNode>

beforeAll(async () => {
  chain = await startChain('Ethereum')
  if (!isHubLeftOut) hub = await startSubstrateChain('Polkadot')
  node = startFakeNode({ behind: chain.rpcUrl })
  hubNode = startFakeNode(hub === null ? {} : { behind: hub.rpcUrl })
  service = await startService({ rpcUrls: { Ethereum: node.rpcUrl, Polkadot: hubNode.rpcUrl } })
  sql = postgres(service.database.url, { max: 1, onnotice: () => {} })
}, 60_000)

afterAll(async () => {
  await sql.end()
  await service.close()
  await Promise.all([node.stop(), hubNode.stop(), chain.stop(), hub?.stop()])
})

type Wallet = { readonly id: string; readonly address: string }
type Network = 'Ethereum' | 'Polkadot'
type World = Pick<Service, 'post'>

const policy = async (network: Network, wallet: Wallet, body: object): Promise<string> => {
  const both = { developer_secret: SECRET, user_pin: PIN }
  const answer = await service.post('/policies', { network, wallet_address: wallet.address, ...both, ...body })
  if (answer.status !== 200) throw new Error(answer.text)
  return answer.json.uuid
}

/** Signed, and signed and recorded, by the developer alone. */
const actsOf = (world: World, network: Network, wallet: Wallet) =>
  (['sign', 'sign-and-send'] as const).map((verb) => (unsigned_transaction: object) => {
    const signer = { network, signer_wallet_address: wallet.address, developer_secret: SECRET }
    return world.post(`/transactions/${verb}`, { ...signer, unsigned_transaction })
  })

const recordedOf = async ({ id }: Wallet): Promise<readonly { readonly raw: Hex; readonly kind: string }[]> => sql`
  select a.raw, a.kind from tests.attempts a join transactions t on t.id = a.transaction_id where t.wallet_id = ${id}`
const signedOf = async ({ id }: Wallet): Promise<number> => {
  const [row] = await sql`select count(*)::int from audit
    where subject = ${id} and action in ('transaction_signed', 'transaction_submitted')`
  return row?.count
}
const spentOf = async (uuid: string) => {
  const [row] = await sql`select spent_fee, max_total_fee from policies where id = ${uuid}`
  return { fee: BigInt(row?.spent_fee), budget: BigInt(row?.max_total_fee) }
}

/** A separate API process while the nodes lie, so that no answers are cached from before or kept for later. */
const whileLying = async (lies: { evm?: Behaviour; substrate?: Behaviour }, use: (world: World) => Promise<void>) => {
  await sql`truncate contract_facts`
  node.behave(lies.evm ?? (() => undefined))
  hubNode.behave(lies.substrate ?? (() => undefined))
  const ctx = await createApiCtx({ config: readConfig(service.variables), process: 'lied-to' })
  const server = listen({ fetch: createApp(ctx).fetch, hostname: '127.0.0.1', port: 0, log: ctx.log })
  try {
    await use(service.as(service.project, `http://127.0.0.1:${server.port}`))
  } finally {
    node.behave(() => undefined)
    hubNode.behave(() => undefined)
    await server.stop(true)
    await ctx.close({ timeoutSeconds: 5 })
  }
}

describe('on an EVM network', () => {
  const TRANSFER_NFT = 'safeTransferFrom(address,address,uint256)'
  const network = 'Ethereum'
  const [RECIPIENT, STRANGER] = [fundedAccount(5).address, fundedAccount(6).address]
  const BUDGET = 2n * 10n ** 16n
  const CODE = parseAbi([
    'function transfer(address to, uint256 value)',
    'function transferFrom(address from, address to, uint256 value)',
    'function approve(address spender, uint256 value)',
    'function setApprovalForAll(address operator, bool approved)',
    'function safeTransferFrom(address from, address to, uint256 tokenId)',
  ])
  const call = (functionName: (typeof CODE)[number]['name'], args: readonly unknown[]) =>
    encodeFunctionData({ abi: CODE, functionName, args } as Parameters<typeof encodeFunctionData>[0])

  let token: { readonly address: Hex }
  let nfts: Awaited<ReturnType<TestChain['deploy']>>

  beforeAll(async () => {
    token = await chain.deploy('TestToken', ['Test', 'TST', 6])
    nfts = await chain.deploy('WizardCollection', ['Doors', 'DOOR', fundedAccount(0).address])
  })

  /** Allows sending at most 5 of a token, and one NFT, to one account. */
  const ruled = async () => {
    const wallet = await service.newWallet({ network, pin: PIN, ownerId: randomUUID() })
    await chain.fund(wallet.address)
    const mint = { contract: { ...token, abi: parseAbi(['function mint(address, uint256)']) }, functionName: 'mint' }
    await chain.write({ ...mint, args: [wallet.address, 1_000n] })
    await chain.write({ contract: nfts, functionName: 'safeMint', args: [wallet.address, 'ipfs://one'] })
    const tokenId = BigInt(nextTokenId++)
    const limits = { max_total_fee: String(BUDGET), max_total_value: '0' }
    const recipient = rule('decodedInput.to', 'eq', RECIPIENT)
    const uuids = [
      await policy(network, wallet, {
        argument_rules: [
          ...[rule('to', 'eq', token.address), rule('decodedInput.function', 'eq', 'transfer'), recipient],
          rule('decodedInput.value', 'le', '5'),
        ],
        ...limits,
      }),
      await policy(network, wallet, {
        argument_rules: [
          ...[rule('to', 'eq', nfts.address), rule('decodedInput.function', 'eq', TRANSFER_NFT), recipient],
          rule('decodedInput.tokenId', 'eq', String(tokenId)),
        ],
        ...limits,
      }),
    ]
    return { wallet, tokenId, uuids }
  }
  let nextTokenId = 0
  type Ruled = Awaited<ReturnType<typeof ruled>>

  const forbidden = ({ wallet, tokenId }: Ruled) => [
    { to: token.address, input: call('transfer', [STRANGER, 1n]) },
    { to: token.address, input: call('transfer', [RECIPIENT, 6n]) },
    { to: token.address, input: call('transferFrom', [wallet.address, RECIPIENT, 1n]) },
    { to: token.address, input: call('approve', [STRANGER, 5n]) },
    { to: nfts.address, input: call('transfer', [RECIPIENT, 5n]) },
    { to: nfts.address, input: call('setApprovalForAll', [STRANGER, true]) },
    { to: nfts.address, input: call('safeTransferFrom', [wallet.address, STRANGER, tokenId]) },
    { to: nfts.address, input: call('safeTransferFrom', [wallet.address, RECIPIENT, tokenId + 1n]) },
    { to: token.address, input: call('transfer', [RECIPIENT, 5n]), value: '1' },
    { to: token.address, input: call('transfer', [RECIPIENT, 5n]), nonce: '999999' },
    { to: token.address, input: call('transfer', [RECIPIENT, 5n]), gasLimit: '16000000', maxFeePerGas: '900000000000' },
    { to: RECIPIENT, value: '1' },
    { to: wallet.address, value: '0' },
  ]

  const moveOf = ({ wallet, tokenId }: Ruled, changes: object) => ({
    ...{ network, from: wallet.address, contract_address: nfts.address, token_id: String(tokenId) },
    ...{ recipient: RECIPIENT, developer_secret: SECRET, ...changes },
  })

  /** Throws if a signature is not what one of the policies allows, or pays more than its budget. */
  const judge = ({ wallet, tokenId }: Ruled, { raw, kind }: { readonly raw: Hex; readonly kind: string }): void => {
    const { to, data, value = 0n, gas = 0n, maxFeePerGas = 0n } = parseTransaction(raw as TransactionSerializedEIP1559)
    expect(value).toBe(0n)
    expect(gas * maxFeePerGas).toBeLessThanOrEqual(BUDGET)
    if (kind === 'cancel') {
      expect([to?.toLowerCase(), data]).toEqual([wallet.address.toLowerCase(), undefined])
      return
    }
    const { functionName, args } = decodeFunctionData({ abi: CODE, data: data ?? '0x' })
    if (functionName === 'transfer') {
      expect([to?.toLowerCase(), args]).toEqual([token.address.toLowerCase(), [RECIPIENT, 5n]])
    } else {
      const own = [nfts.address.toLowerCase(), 'safeTransferFrom', [wallet.address, RECIPIENT, tokenId]]
      expect<unknown[]>([to?.toLowerCase(), functionName, args]).toEqual(own)
    }
  }

  /** @returns the number of signatures; all of them were allowed */
  const tryAll = async (world: World, own: Ruled): Promise<number> => {
    const acts = actsOf(world, network, own.wallet)
    for (const act of acts) {
      for (const each of someOf(forbidden(own), 5))
        expect({ each, status: (await act(each)).status }).not.toMatchObject({ status: 200 })
    }
    for (const changes of [{ recipient: STRANGER }, { token_id: String(own.tokenId + 1n) }]) {
      expect((await world.post('/nfts/transfer', moveOf(own, changes))).status).not.toBe(200)
    }
    expect(await signedOf(own.wallet)).toBe(0)

    const allowed = { to: token.address, input: call('transfer', [RECIPIENT, 5n]) }
    const raws: { raw: Hex; kind: string }[] = []
    for (const [index, act] of acts.entries()) {
      const { status, json } = await act(allowed)
      if (status === 200 && index === 0) raws.push({ raw: json, kind: 'rung' })
    }
    await world.post('/nfts/transfer', moveOf(own, {}))
    raws.push(...(await recordedOf(own.wallet)))
    for (const each of raws) judge(own, each)
    for (const uuid of own.uuids) {
      const { fee, budget } = await spentOf(uuid)
      expect(fee).toBeLessThanOrEqual(budget)
    }
    return signedOf(own.wallet)
  }

  /** Changes the real node's answer to some methods. */
  const changed =
    <Result>(methods: readonly string[], change: (result: Result) => unknown): Behaviour =>
    async ({ method, params }) =>
      methods.includes(method) ? { result: change((await callRpc(chain.rpcUrl, method, params)) as Result) } : undefined
  const saying =
    (method: string, result: unknown): Behaviour =>
    (request) =>
      request.method === method ? { result } : undefined
  const word = (value: bigint) => toHex(value, { size: 32 })
  const times = (quantity: string) => toHex(BigInt(quantity) * 5_000n)
  const dearBlock = <Block extends { baseFeePerGas: string } | null>(block: Block) =>
    block && { ...block, baseFeePerGas: times(block.baseFeePerGas) }
  const dearHistory = <History extends { baseFeePerGas: readonly string[] }>(history: History) => ({
    ...history,
    baseFeePerGas: history.baseFeePerGas.map(times),
  })
  const dearFees: Behaviour = async (request) =>
    (await changed(['eth_gasPrice', 'eth_maxPriorityFeePerGas'], times)(request)) ??
    (await changed(['eth_getBlockByNumber'], dearBlock)(request)) ??
    (await changed(['eth_feeHistory'], dearHistory)(request))

  const LIES: Readonly<Record<string, Behaviour>> = {
    'says yes to every question, every standard included': saying('eth_call', word(1n)),
    'says no to every question, every standard included': saying('eth_call', word(0n)),
    'says the greatest number to every question': saying('eth_call', word(2n ** 256n - 1n)),
    'calls everything by the name of an allowed function': saying(
      'eth_call',
      encodeAbiParameters([{ type: 'string' }], ['transfer']),
    ),
    'says that there is no contract anywhere': saying('eth_getCode', '0x'),
    'says that everything is a contract': saying('eth_getCode', '0x60006000fd'),
    'counts no transaction': saying('eth_getTransactionCount', '0x0'),
    'counts a thousand transactions': saying('eth_getTransactionCount', '0x3e8'),
    'says that gas is most of a block': saying('eth_estimateGas', '0x1312d00'),
    'says that fees are dear': (request) => dearFees(request),
  }

  /** One lie about contracts, and one about fees. */
  const SHORT = ['says yes to every question, every standard included', 'says that fees are dear']

  /** These lies raise the fee above the budget of both policies. */
  const DEAR = new Set(['says that gas is most of a block', 'says that fees are dear'])

  longTest(
    'with an honest node, what the policy allows is signed, and the rest is denied',
    async () => {
      const own = await ruled()
      for (const act of actsOf(service, network, own.wallet)) {
        for (const each of forbidden(own)) expect(REFUSED).toContainEqual(told(await act(each)))
      }
      expect(await tryAll(service, own)).toBe(3)
    },
    30_000,
  )

  test.each(isLong ? Object.keys(LIES) : SHORT)(
    'a node that %s has nothing signed that the policy forbids',
    async (lie) => {
      const own = await ruled()
      await whileLying({ evm: LIES[lie] as Behaviour }, async (world) => {
        const signed = await tryAll(world, own)
        if (DEAR.has(lie)) expect(signed).toBe(0)
        else expect(signed).toBeGreaterThanOrEqual(2)
      })
    },
    30_000,
  )
})

describe.skipIf(isHubLeftOut)('on a Substrate network', () => {
  const network = 'Polkadot'
  const UNIT = 10n ** 10n
  let [bob, stranger] = ['', '']
  let metadata: Hex

  beforeAll(async () => {
    bob = encodeAddress((await devAccount('Bob')).publicKey, 0)
    stranger = encodeAddress((await devAccount('Eve')).publicKey, 0)
    await hub?.fund(bob)
    metadata = (await hub?.rpc('state_getMetadata')) as Hex
  })

  const keyOf = (address: string) => Buffer.from(decodeAddress(address)).toString('hex')
  /**
   * Balances: pallet 10; transfer_keep_alive: call 3, an account and a compact number; transfer_all: call 4, and a
   * bool.
   */
  const pay = (to: string, planck: number) => `0a0300${keyOf(to)}${(planck << 2).toString(16).padStart(2, '0')}`
  const payAll = (to: string) => `0a0400${keyOf(to)}00`

  const ruled = async () => {
    const wallet = await service.newWallet({ network, pin: PIN, ownerId: randomUUID() })
    await hub?.fund(wallet.address, 1_000n * UNIT)
    const uuid = await policy(network, wallet, {
      argument_rules: [
        rule('decodedInput.function', 'eq', 'balances.transfer_keep_alive'),
        ...[rule('decodedInput.dest', 'eq', bob), rule('decodedInput.value', 'le', '5')],
      ],
      max_total_fee: String(UNIT),
    })
    return { wallet, uuid }
  }

  const TRANSFERS = ['transfer_keep_alive', 'transfer_all'] as const
  const sayingMetadata = (forge: (honest: Hex) => Hex): Behaviour => {
    let forged: Hex | undefined
    return ({ method }) => {
      if (method !== 'state_getMetadata') return undefined
      forged ??= forge(metadata)
      return { result: forged }
    }
  }
  const LIES: Readonly<Record<string, Behaviour>> = {
    'tells the truth': () => undefined,
    'gives two calls each other’s place in the metadata': sayingMetadata((honest) =>
      withCallsSwapped(honest, 'Balances', TRANSFERS),
    ),
    'gives two calls each other’s names in the metadata': sayingMetadata((honest) =>
      withNamesSwapped(honest, 'Balances', TRANSFERS),
    ),
    'counts a thousand extrinsics': ({ method }) =>
      method === 'system_accountNextIndex' ? { result: 1_000 } : undefined,
    // RuntimeDispatchInfo: a weight, a class, and a fee of 16 bytes, little-endian.
    'says that the fee is dear': ({ method, params: [name] }) =>
      method === 'state_call' && name === 'TransactionPaymentApi_query_info'
        ? { result: `0x${'00'.repeat(9)}${'00'.repeat(7)}01${'00'.repeat(8)}` }
        : undefined,
  }
  test.each(Object.keys(LIES))(
    'a node that %s has nothing signed that the policy forbids',
    async (lie) => {
      const { wallet, uuid } = await ruled()
      await whileLying({ substrate: LIES[lie] as Behaviour }, async (world) => {
        const acts = actsOf(world, network, wallet)
        const forbidden = [pay(stranger, 1), pay(bob, 6), payAll(bob), `280004${pay(bob, 1)}`, '00011068696869']
        for (const act of acts) {
          for (const each of forbidden) expect((await act({ input: `0x${each}` })).status).not.toBe(200)
          expect((await act({ input: `0x${pay(bob, 1)}`, nonce: '999999' })).status).not.toBe(200)
        }
        expect(await signedOf(wallet)).toBe(0)

        const raws: string[] = []
        for (const [index, act] of acts.entries()) {
          const { status, json } = await act({ input: `0x${pay(bob, 5)}` })
          if (status === 200 && index === 0) raws.push(json)
        }
        raws.push(...(await recordedOf(wallet)).map(({ raw }) => raw))
        for (const raw of raws) expect(raw).toEndWith(pay(bob, 5))
        const { fee, budget } = await spentOf(uuid)
        expect(fee).toBeLessThanOrEqual(budget)
        expect(raws).toHaveLength(/metadata|dear/.test(lie) ? 0 : 2)
      })
    },
    30_000,
  )
})
