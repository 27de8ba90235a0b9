import { afterAll, afterEach, beforeAll, describe, expect, test } from 'bun:test'
import type { Hex, Intent } from '../../../src/chains/chain.ts'
import { createRpc, question } from '../../../src/chains/node/rpc.ts'
import { hash } from '../../../src/chains/node/wire.ts'
import { addressOf } from '../../../src/chains/substrate/address.ts'
import { readMessage } from '../../../src/chains/substrate/calls.ts'
import { createSubstrateChain } from '../../../src/chains/substrate/chain.ts'
import type { ChainEvent, CodecValue } from '../../../src/chains/substrate/events.ts'
import { messageFailure } from '../../../src/chains/substrate/gear.ts'
import { createNodelessSubstrateChain } from '../../../src/chains/substrate/nodeless.ts'
import type { Runtime } from '../../../src/chains/substrate/runtime.ts'
import { blake2Hash, toHex } from '../../../src/chains/substrate/scale.ts'
import { spentBy } from '../../../src/chains/substrate/spending.ts'
import { decodePayload, encodePayload, isOf, type SailsItem } from '../../../src/chains/substrate/vnft.ts'
import { AppError } from '../../../src/platform/errors.ts'
import { vara as varaFile } from '../../../src/platform/networks/vara.ts'
import { substrateNetworkRow } from '../../../src/platform/networks.ts'
import { checkRules } from '../../../src/signing/policies/rules.ts'
import { contractOf } from '../../../src/signing/token.ts'
import { longTest } from '../../support/long.ts'
import { matches } from '../../support/rules.ts'
import { devAccount } from '../../support/substrate.ts'
import { createMemory } from '../evm/memory.ts'
import { type FakeBlock, startFakeChain } from './fake-chain.ts'
import { type Asked, type Outcome, startStateNode } from './gear-node.ts'
import { varaRuntime } from './metadata.ts'

describe('a payload of Sails', () => {
  const [WALK, ADD]: SailsItem[] = [
    { service: 'Dog', name: 'Walk', types: ['i32', 'i32'] },
    { service: 'Counter', name: 'Add', types: ['u32'] },
  ]
  if (WALK === undefined || ADD === undefined) throw new Error('expected the items')

  test('matches the vectors of its authors', () => {
    // gear-tech/sails, js/test/encode-decode.test.ts, "encode/decode dog walk".
    const published = '0x0c446f671057616c6b0a0000000a000000'
    expect(encodePayload(WALK, [10, 10])).toBe(published)
    expect(decodePayload(WALK, published)).toEqual([10, 10])
    expect(isOf(WALK, published)).toBe(true)
    // The same, rs/client-gen/tests/snapshots of v0.6.1: the routes of functions.
    const route = (...bytes: number[]): Hex => toHex(Uint8Array.from(bytes))
    expect(encodePayload({ service: 'DoThis', name: 'DoThat', types: [] }, [])).toBe(
      `${route(24, 68, 111, 84, 104, 105, 115)}${route(24, 68, 111, 84, 104, 97, 116).slice(2)}`,
    )
  })

  test('has 256-bit integers as 32 bytes in little-endian', () => {
    const item = { service: 'Vnft', name: 'Transfer', types: ['u256'] }
    const payload = encodePayload(item, [2n ** 248n + 0x0201n])
    // parity-scale-codec's fixed-width integers; impl-codec of primitive-types takes U256 the same way.
    expect(payload.slice(-64)).toBe(`0102${'00'.repeat(29)}01`)
    expect(decodePayload(item, payload)?.map((value) => BigInt(String(value)))).toEqual([2n ** 248n + 0x0201n])
  })

  test('of another item, too short or too long, is refused', () => {
    const whole = encodePayload(ADD, [99])
    expect(decodePayload(ADD, whole)).toEqual([99])
    expect(decodePayload(ADD, encodePayload({ ...ADD, service: 'WrongService' }, [99]))).toBeNull()
    for (const payload of ['0x', '0x01', whole.slice(0, -2), `${whole}00`, `0x${'ff'.repeat(40)}`] as Hex[]) {
      expect(decodePayload(ADD, payload)).toBeNull()
    }
    expect(isOf(ADD, '0x')).toBe(false)
    expect(() => encodePayload(ADD, [])).toThrow('expected 1 values')
  })
})

describe('the name of a program', () => {
  const rowOf = (network: 'Polkadot' | 'Vara') => substrateNetworkRow({ network, environment: 'testnet', devnet: true })
  const chain = createNodelessSubstrateChain(rowOf('Vara'))
  const PROGRAM: Hex = `0x${'ab'.repeat(32)}`
  const program = addressOf(rowOf('Vara'), Buffer.from('ab'.repeat(32), 'hex'))

  test('as a contract is its id in lower-case hex; as an address it is SS58', () => {
    const upper = `0x${'AB'.repeat(32)}`
    for (const text of [PROGRAM, upper, program]) {
      expect(chain.parseContract(text, 'contract_address')).toBe(PROGRAM)
      expect(chain.parseAddress(text, 'to')).toBe(program)
    }
    for (const text of ['7', '0x', `0x${'ab'.repeat(31)}`, `${PROGRAM}00`, 'ab'.repeat(32)]) {
      expect(() => chain.parseContract(text, 'contract_address')).toThrow('"contract_address"')
    }
    // Policies compare texts: an id in hex would never be equal to an address.
    const rule = (value: string) => [{ argument: 'to', operator: 'ne', value }] as const
    expect(() => checkRules(chain, rule(PROGRAM))).toThrow(`must be written as ${program}`)
    expect(() => checkRules(chain, rule(program))).not.toThrow()
    // On other networks 32 bytes in hex are not an address: they may be a public key or a hash.
    const other = createNodelessSubstrateChain(rowOf('Polkadot'))
    expect(() => other.parseAddress(PROGRAM, 'to')).toThrow('SS58')
  })
})

const vara = varaRuntime()
if (vara === null) console.log('Not run: messages to programs, as VARA_METADATA names no file.')

describe.skipIf(vara === null)('a program of Vara', () => {
  const row = substrateNetworkRow({ network: 'Vara', environment: 'testnet', devnet: true })
  const runtime = (): Runtime => {
    if (vara === null) throw new Error('expected the metadata of Vara')
    return vara
  }
  const PROGRAM: Hex = `0x${'ab'.repeat(32)}`
  const program = addressOf(row, Buffer.from('ab'.repeat(32), 'hex'))
  const URI = 'https://wallets.example.org/metadata/5e.json'
  const GAS = 1_000_000_000
  const METADATA = '(Text,Text,Text,Text)'
  const vnft = (name: string, ...types: string[]): SailsItem => ({ service: 'Vnft', name, types })
  const MINT = vnft('Mint', '[u8;32]', METADATA)

  let hers = ''
  let his = ''
  let minters: Hex[] = []
  let heard: Asked[] = []
  const reply = (item: SailsItem, ...values: unknown[]): Outcome => ({ reply: encodePayload(item, values), gas: GAS })

  /** A VNFT program of the standard; other addresses have no program. */
  const standard = (destination: string, asked: Asked): Outcome => {
    heard.push(asked)
    const { payload } = asked
    if (destination !== PROGRAM) return null
    if (isOf(vnft('Minters'), payload)) return reply(vnft('Minters', 'Vec<[u8;32]>'), minters)
    if (isOf(MINT, payload)) return minters.includes(asked.source as Hex) ? reply(vnft('Mint')) : { trap: 'NotMinter' }
    if (isOf(vnft('Transfer'), payload)) return reply(vnft('Transfer'))
    if (payload === encodePayload(vnft('Name'), [])) return reply(vnft('Name', 'Text'), 'Doors\u202e\n')
    if (payload === encodePayload(vnft('Symbol'), [])) return reply(vnft('Symbol', 'Text'), 'DOOR')
    const [id] = decodePayload(vnft('TokenMetadataById', 'u256'), payload) ?? []
    const told = { 1: ['Door', 'Red.', 'ipfs://door', URI], 2: ['', '', '', URI], 3: ['', '', '', ''] }[Number(id)]
    if (id !== undefined) return reply(vnft('TokenMetadataById', `Option<${METADATA}>`), told ?? null)
    return { trap: 'Unknown service or method' }
  }
  const STORED = () => [
    {
      ...{ pallet: 'system', entry: 'account', parts: [hers] },
      value: { nonce: 4, providers: 1, data: { free: 10n ** 15n } },
    },
  ]
  let behaviour = standard
  let node: ReturnType<typeof startStateNode>
  let chain: ReturnType<typeof createSubstrateChain>

  beforeAll(async () => {
    const [alice, bob] = [await devAccount('Alice'), await devAccount('Bob')]
    ;[hers, his] = [addressOf(row, alice.publicKey), addressOf(row, bob.publicKey)]
    minters = [toHex(alice.publicKey)]
    node = startStateNode({
      runtime: runtime(),
      genesisHash: row.genesisHash,
      program: (destination, asked) => behaviour(destination, asked),
      stored: STORED(),
    })
    chain = createSubstrateChain({ row, rpcUrl: node.rpcUrl, memory: createMemory() })
  })
  afterAll(() => node?.stop())

  const codeOf = (asked: Promise<unknown>) =>
    asked.then(
      () => 'none',
      (error: unknown) => (error instanceof AppError ? error.code : error),
    )
  const prepared = (intent: Intent) => chain.prepare(intent, hers, { pending: async () => [] })
  const callIn = (unsigned: { readonly family: string }) => {
    const call = (unsigned as unknown as { call: Hex }).call
    const read = runtime().registry.createType('Call', call)
    expect(read.toHex()).toBe(call)
    return read.toHuman() as unknown as { section: string; method: string; args: Readonly<Record<string, unknown>> }
  }
  const grouped = (number: bigint) => number.toString().replace(/\B(?=(\d{3})+$)/g, ',')

  test('shows a message to a policy as its call, without the gas limit', () => {
    const input = encodePayload(vnft('Transfer', '[u8;32]', 'u256'), [`0x${'11'.repeat(32)}`, 5n])
    const message = { to: program, value: 7n, input }
    for (const gasLimit of [undefined, 9n]) {
      const read = readMessage(runtime(), { ...message, ...(gasLimit === undefined ? {} : { gasLimit }) })
      expect(read?.functionName).toBe('gear.send_message')
      expect([...(read?.values.keys() ?? [])]).toEqual(['destination', 'payload', 'value', 'keep_alive'])
      expect(read?.values.get('payload')).toEqual({ kind: 'bytes', value: input })
      const sent = { to: { kind: 'account', value: program }, value: 7n, isCall: true, call: read } as const
      const named = [{ argument: 'decodedInput.function', operator: 'eq', value: 'gear.send_message' }] as const
      const only = { argument: 'to', operator: 'eq', value: program } as const
      expect(matches([...named, only], [sent])).toBe(true)
      expect(matches([only], [sent])).toBe(false)
      expect(matches([...named, { argument: 'decodedInput.gas_limit', operator: 'ge', value: '0' }], [sent])).toBe(
        false,
      )
    }
  })

  longTest('gets the estimated gas and a fifth more, or the caller’s limit, and both are counted', async () => {
    const message = { to: program, value: 5n, input: encodePayload(vnft('Transfer'), []) }
    const { unsigned, worstCost } = await prepared(message)
    const { section, method, args } = callIn(unsigned)
    expect([section, method]).toEqual(['gear', 'sendMessage'])
    expect(args).toMatchObject({
      destination: PROGRAM,
      gas_limit: grouped(1_200_000_000n),
      value: '5',
      keep_alive: true,
    })
    // 100 planck for each unit (GearBank.GasMultiplier), the value, and the fee with its margin.
    expect(worstCost).toBe(120_000_000_000n + 5n + 12_500_000_000n)
    heard = []
    const own = await prepared({ ...message, gasLimit: 7_000n })
    expect(callIn(own.unsigned).args).toMatchObject({ gas_limit: '7,000' })
    expect(heard).toEqual([])
    expect(await codeOf(prepared({ ...message, gasLimit: 2n ** 63n }))).toBe('invalid_input')
    expect(await codeOf(prepared({ ...message, gasLimit: 10n ** 13n }))).toBe('invalid_input')
    expect(await codeOf(prepared({ ...message, value: 10n ** 15n }))).toBe('balance_insufficient')
    // A value without input is a transfer and has no gas limit.
    const transfer = await prepared({ to: program, value: 10n ** 13n, input: '0x' })
    expect(callIn(transfer.unsigned)).toMatchObject({ section: 'balances', method: 'transferKeepAlive' })
    expect(await codeOf(prepared({ to: his, value: 10n ** 13n, input: '0x', gasLimit: 1n }))).toBe('invalid_input')
  })

  describe('a call on a voucher', () => {
    const VOUCHER: Hex = `0x${'ab'.repeat(32)}`
    const voucherAccount = () => addressOf(row, Buffer.from(VOUCHER.slice(2), 'hex'))
    const account = (address: string, free: bigint) => ({
      ...{ pallet: 'system', entry: 'account', parts: [address] },
      value: { nonce: 0, providers: 1, data: { free } },
    })
    const voucher = (value: object = {}) => ({
      ...{ pallet: 'gearVoucher', entry: 'vouchers', parts: [hers, VOUCHER] },
      value: { owner: his, programs: null, codeUploading: false, expiry: 1_000, ...value },
    })
    const on = (inner: object): Intent => {
      const made = runtime().calls.gearVoucher?.call?.(VOUCHER, inner)
      if (made === undefined) throw new Error('no vouchers')
      return { to: null, value: 0n, input: made.toHex() }
    }
    const message = (value = 0n) =>
      on({ SendMessage: { destination: PROGRAM, payload: '0x01', gasLimit: 1_000n, value, keepAlive: true } })
    afterEach(() => node.store(STORED()))

    test('takes nothing from a signer without coins: the voucher pays fee and gas', async () => {
      node.store([voucher(), account(voucherAccount(), 10n ** 13n)])
      const { worstCost, balance } = await prepared(message())
      expect([worstCost, balance]).toEqual([0n, 0n])
      const [preview] = await chain.preview(hers, [message()])
      expect(preview).toMatchObject({ success: true, decoded: { functionName: 'gear_voucher.call' } })
      // The signer pays the value of the message.
      expect(await codeOf(prepared(message(7n)))).toBe('balance_insufficient')
    })

    test('is refused with the name of the voucher if the voucher has too little', async () => {
      node.store([voucher(), account(voucherAccount(), 10n ** 12n), account(hers, 10n ** 15n)])
      const refusal = prepared(message())
      await expect(refusal).rejects.toMatchObject({ code: 'balance_insufficient' })
      await expect(refusal).rejects.toThrow(`${voucherAccount()}, the account of the voucher, needs 0.0125001 VARA`)
    })

    test.each([
      ['is over', { expiry: 100 }, message],
      ['is for another program', { programs: [`0x${'cd'.repeat(32)}`] }, message],
      ['takes no code', {}, () => on({ UploadCode: { code: '0x00' } })],
    ])('is paid by the signer if the voucher %s', async (_, changes, made) => {
      node.store([voucher(changes), account(voucherAccount(), 10n ** 13n)])
      expect(await codeOf(prepared(made()))).toBe('balance_insufficient')
      node.store([voucher(changes), account(hers, 10n ** 15n)])
      expect((await prepared(made())).worstCost).toBe(12_500_000_000n)
    })

    test('is paid by the signer if the voucher belongs to another account', async () => {
      node.store([{ ...voucher(), parts: [his, VOUCHER] }, account(hers, 10n ** 15n)])
      expect((await prepared(message())).worstCost).toBe(12_500_000_000n)
    })

    test('is paid by a voucher for this program, or for uploading code', async () => {
      node.store([voucher({ programs: [PROGRAM], codeUploading: true }), account(voucherAccount(), 10n ** 13n)])
      expect((await prepared(message())).worstCost).toBe(0n)
      expect((await prepared(on({ UploadCode: { code: '0x00' } }))).worstCost).toBe(0n)
      expect((await prepared(on({ DeclineVoucher: null }))).worstCost).toBe(0n)
    })
  })

  test('what a call takes is counted exactly, up to a maximum, or as not known', () => {
    const { calls, constants } = runtime()
    const spent = (pallet: string, name: string, ...values: readonly unknown[]) => {
      const made = calls[pallet]?.[name]?.(...values)
      if (made === undefined) throw new Error(`no call ${pallet}.${name}`)
      return spentBy(runtime(), made.toHex())
    }
    const exactly = (amount: bigint) => ({ needed: amount, most: amount })
    const remark = calls.system?.remark?.('0x01')
    const planck = (pallet: string, name: string) => BigInt(String(constants[pallet]?.[name]))
    // 100 planck for each unit of gas; a new program gets the existential deposit.
    expect(spent('gear', 'uploadProgram', '0x00', '0x01', '0x', 1_000n, 5n, true)).toEqual(
      exactly(100_005n + planck('balances', 'existentialDeposit')),
    )
    expect(spent('gear', 'sendReply', PROGRAM, '0x', 1_000n, 5n, true)).toEqual(exactly(100_005n))
    expect(spent('gearVoucher', 'issue', his, 10n ** 12n, null, false, 100)).toEqual(exactly(10n ** 12n))
    // Staking more than the balance stakes the whole balance.
    expect(spent('staking', 'bond', 10n ** 12n, 'Staked')).toEqual({ needed: 0n, most: 10n ** 12n })
    expect(spent('staking', 'chill')).toEqual(exactly(0n))
    expect(spent('balances', 'transferAll', his, false)).toEqual({ needed: 0n, most: 'all' })
    const deposits = planck('multisig', 'depositBase') + 3n * planck('multisig', 'depositFactor')
    expect(spent('multisig', 'asMulti', 3, [his], null, remark, {})).toEqual({ needed: 0n, most: deposits })
    const all = calls.balances?.transferAll?.(his, false)
    expect(spent('utility', 'asDerivative', 1, all)).toEqual(exactly(0n))
    const bond = calls.staking?.bond?.(7n, 'Staked')
    const transfer = calls.balances?.transferKeepAlive?.(his, 5n)
    expect(spent('utility', 'batch', [bond, transfer])).toEqual({ needed: 5n, most: 12n })
    expect(spent('utility', 'batchAll', [transfer, all])).toEqual({ needed: 5n, most: 'all' })
    const unknown = calls.bounties?.proposeBounty?.(1n, '0x')
    expect(spent('utility', 'batch', [transfer, unknown])).toEqual({ needed: 5n, most: null })
  })

  test('the maximum of a call is never counted above the signer’s balance', async () => {
    const made = runtime().calls.staking?.bond?.(10n ** 18n, 'Staked')
    const { worstCost, balance } = await prepared({ to: null, value: 0n, input: made?.toHex() ?? '0x' })
    expect(worstCost).toBe(balance)
  })

  test('that panics refuses a message before it is sent, with its own text', async () => {
    const message = { to: program, value: 0n, input: '0x0c446f67' as const }
    const refusal = prepared(message)
    await expect(refusal).rejects.toMatchObject({ code: 'execution_reverted' })
    await expect(refusal).rejects.toThrow("Program terminated with a trap: 'Unknown service or method'")
    const { result } = { result: await chain.preview(hers, [message]) }
    expect(result[0]).toMatchObject({ success: false })
    expect(result[0]?.error).toContain('Unknown service or method')
  })

  test('of the standard mints with the metadata’s texts and its URI', async () => {
    const request = { contract: PROGRAM, from: hers, recipient: his, uri: URI }
    const metadata = { name: 'Door #1', description: 'A red door.', image: 'ipfs://door' }
    const intent = await chain.mintIntent({ ...request, metadata })
    expect(intent).toMatchObject({ to: program, value: 0n })
    const actor = toHex((await devAccount('Bob')).publicKey)
    expect(decodePayload(MINT, intent.input)).toEqual([actor, ['Door #1', 'A red door.', 'ipfs://door', URI]])
    const { unsigned } = await prepared(intent)
    expect(callIn(unsigned).args).toMatchObject({ destination: PROGRAM, payload: intent.input })
    const bare = await chain.mintIntent(request)
    expect(decodePayload(MINT, bare.input)).toEqual([actor, ['', '', '', URI]])
  })

  test('of the standard mints only for its minters, and another program does not mint', async () => {
    const request = { contract: PROGRAM, from: hers, recipient: his, uri: URI }
    expect(await codeOf(chain.mintIntent({ ...request, from: his }))).toBe('mint_unauthorized')
    expect(await codeOf(chain.mintIntent({ ...request, contract: `0x${'cd'.repeat(32)}` }))).toBe('mint_unsupported')
    behaviour = () => ({ reply: '0x', gas: GAS })
    expect(await codeOf(chain.mintIntent(request))).toBe('mint_unsupported')
    behaviour = () => ({ trap: 'Unknown service or method' })
    expect(await codeOf(chain.mintIntent(request))).toBe('mint_unsupported')
    behaviour = standard
    expect(chain.collections).toBeNull()
  })

  test('of the standard moves a token by its whole id, and gives its metadata', async () => {
    const tokenId = 2n ** 256n - 2n
    const move = { contract: PROGRAM, from: hers, recipient: his, tokenId, amount: 1n }
    const intent = await chain.transferNftIntent(move)
    expect(intent.to).toBe(program)
    expect(intent.input.slice(-64)).toBe(`fe${'ff'.repeat(31)}`)
    expect(isOf(vnft('Transfer'), intent.input)).toBe(true)
    expect(await codeOf(chain.transferNftIntent({ ...move, amount: 2n }))).toBe('invalid_input')
    const tokens = [1n, 2n, 3n, 4n].map((each) => ({ contract: PROGRAM, tokenId: each }))
    const [own, hosted, empty, none] = await chain.tokenUris(tokens)
    const body = Buffer.from(own?.split(',')[1] ?? '', 'base64').toString()
    expect(JSON.parse(body)).toEqual({ name: 'Door', description: 'Red.', image: 'ipfs://door' })
    expect([hosted, empty, none]).toEqual([URI, null, null])
  })

  test('of the standard is a collection with name and symbol; another program is a contract, an account is not', async () => {
    const other: Hex = `0x${'ce'.repeat(32)}`
    const active = (id: Hex) => ({ pallet: 'gearProgram', entry: 'programStorage', parts: [id], value: { Exited: id } })
    node.store([...STORED(), active(PROGRAM), active(other)])
    const words = [PROGRAM, program, other, hers, `0x${'cd'.repeat(32)}`, '7', 'asset:7']
    const memory = createMemory()
    const of = createSubstrateChain({ row, rpcUrl: node.rpcUrl, memory })
    const nothing = { isContract: false, standard: 'other', name: '', symbol: '', decimals: null } as const
    const doors = { isContract: true, standard: 'erc721', name: 'Doors', symbol: 'DOOR', decimals: null } as const
    expect([...(await of.facts(words)).values()]).toEqual([
      ...[doors, doors, { ...nothing, isContract: true }],
      ...[nothing, nothing, nothing, nothing],
    ])
    expect([...memory.kept.keys()]).toEqual([PROGRAM, program, other])
    // As a contract and as an address.
    for (const address of [PROGRAM, program]) {
      const shown = contractOf({ chain: of, address, facts: doors, display: undefined })
      expect(shown).toMatchObject({ address, type: 'nft', nft: { contract_address: PROGRAM, name: 'Doors' } })
    }
    node.store(STORED())
  })

  test('decides whether a message succeeds, although its extrinsic succeeds once it is queued', async () => {
    const id: Hex = `0x${'1d'.repeat(32)}`
    const actor = toHex((await devAccount('Alice')).publicKey)
    const extrinsic: Hex = '0x0c840102'
    const ended = { weight: { refTime: 0, proofSize: 0 }, class: 'Normal', paysFee: 'Yes' }
    const blockWith = (status: string): FakeBlock => ({
      ...{ runtime: runtime(), by: runtime(), extrinsics: [extrinsic] },
      events: [
        [0, 'Gear', 'MessageQueued', [id, actor, PROGRAM, 'Handle']],
        [0, 'System', 'ExtrinsicSuccess', [ended]],
        [null, 'Gear', 'MessagesDispatched', [1, new Map([[id, status]]), []]],
      ],
    })
    const made = startFakeChain([{ runtime: runtime(), by: runtime() }, blockWith('Failed'), blockWith('Success')])
    const fakeRow = { ...row, genesisHash: made.hashOf(0) }
    const of = createSubstrateChain({ row: fakeRow, rpcUrl: made.rpcUrl, memory: createMemory() })
    const sent = toHex(blake2Hash(Buffer.from(extrinsic.slice(2), 'hex')))
    const told = []
    for (const block of [1, 2]) told.push(...(await of.statuses([{ hash: sent, blockHash: made.hashOf(block) }])))
    made.stop()
    expect(told).toMatchObject([
      { kind: 'mined', success: false, reason: 'Gear: the program failed' },
      { kind: 'mined', success: true, reason: null },
    ])
  })

  test('that failed gives its reason, if it has one', () => {
    const { registry } = runtime()
    const id: Hex = `0x${'1d'.repeat(32)}`
    const value = (type: string, of: unknown) => registry.createType(type as 'u32', of) as unknown as CodecValue
    const event = (extrinsic: number | null, name: string, fields: Record<string, CodecValue>): ChainEvent => ({
      ...{ extrinsic, pallet: 'Gear', name, fields: new Map(Object.entries(fields)) },
    })
    const queued = event(1, 'MessageQueued', { id: value('[u8;32]', id) })
    const dispatched = (status: string) =>
      event(2, 'MessagesDispatched', {
        statuses: value('BTreeMap<GprimitivesMessageId,GearCommonEventDispatchStatus>', new Map([[id, status]])),
      })
    const said = event(2, 'UserMessageSent', {
      message: value('GearCoreMessageUserUserMessage', {
        ...{ id, source: PROGRAM, destination: id, value: 0 },
        payload: toHex(Buffer.from("panicked with 'NotMinter'")),
        details: { to: id, code: { Error: { Execution: 'UserspacePanic' } } },
      }),
    })
    expect(messageFailure([queued, said, dispatched('Failed')], 1)).toBe(
      "Gear: Execution.UserspacePanic: panicked with 'NotMinter'",
    )
    expect(messageFailure([queued, dispatched('Failed')], 1)).toBe('Gear: the program failed')
    expect(messageFailure([queued, dispatched('Success')], 1)).toBeNull()
    expect(messageFailure([queued, said, dispatched('Failed')], 0)).toBeNull()
    expect(messageFailure([queued], 1)).toBeNull()
  })
})

const elsewhere = process.env.VARA_TEST_WS
if (elsewhere === undefined) console.log('Not run: messages to programs on a node, as VARA_TEST_WS names none.')

test.skipIf(elsewhere === undefined)(
  'the node that VARA_TEST_WS names answers for its programs as the tests have it',
  async () => {
    const rpcUrl = elsewhere ?? ''
    const row = substrateNetworkRow({ network: 'Vara', environment: 'testnet', devnet: false })
    const genesisHash = await createRpc({ rpcUrl, network: 'Vara' }).ask(question('chain_getBlockHash', [0], hash))
    const chain = createSubstrateChain({ row: { ...row, genesisHash }, rpcUrl, memory: createMemory() })
    const hers = addressOf(row, (await devAccount('Alice')).publicKey)
    const nowhere: Hex = `0x${'cd'.repeat(32)}`
    const mint = chain.mintIntent({ contract: nowhere, from: hers, recipient: hers, uri: '' })
    await expect(mint).rejects.toMatchObject({ code: 'mint_unsupported' })
    expect(await chain.tokenUris([{ contract: nowhere, tokenId: 1n }])).toEqual([null])
    // The id of an existing program of the standard.
    const program = process.env.VARA_TEST_VNFT
    if (program === undefined) return
    const contract = chain.parseContract(program, 'VARA_TEST_VNFT')
    const refused = chain.mintIntent({ contract, from: varaFile.nobody, recipient: hers, uri: '' })
    await expect(refused).rejects.toMatchObject({ code: 'mint_unauthorized' })
  },
  60_000,
)
