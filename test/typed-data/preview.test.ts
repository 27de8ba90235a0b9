// What a preview says of typed data: its kind, one sentence, what moves, and warnings.

import { beforeAll, describe, expect, test } from 'bun:test'
import { concatHex, encodeFunctionData, encodePacked, getAddress, type Hex, parseAbi, size } from 'viem'
import { deployCanonicalContracts } from '../../devnet/canonical-contracts.ts'
import { SAFE_ADDRESSES } from '../../src/chains/evm/safe/settings.ts'
import { fundedAccount } from '../support/chains.ts'
import { commonWorld } from '../support/common-service.ts'
import type { Answer } from '../support/service.ts'
import * as data from './data.ts'

const SIGNER = fundedAccount(1).address
const SPENDER = fundedAccount(2).address
const OTHER = fundedAccount(3).address
const PERMIT2 = '0x000000000022D473030F116dDEE9F6B43aC78BA3'
const SEAPORT = '0x0000000000000068F116a894984e2DB1123eB395'
const UINT256_MAX = (2n ** 256n - 1n).toString()
const UINT160_MAX = (2n ** 160n - 1n).toString()
/** 2030-01-01T00:00:00Z. */
const LATER = '1893456000'
const UNTIL = '2030-01-01T00:00:00.000Z'
const ONE = 10n ** 18n
const ERC20 = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])
const MULTI_SEND = parseAbi(['function multiSend(bytes transactions) payable'])

const { chain, service } = await commonWorld()
await deployCanonicalContracts(chain.rpcUrl)
const chainId = await chain.publicClient.getChainId()
const token = (await chain.deploy('SignedToken')).address
const nfts = (await chain.deploy('WizardCollection', ['Wizard Collection', 'WIZ', OTHER])).address
const contract = (await chain.deploy('SignatureTransfer')).address

type Typed = ReturnType<typeof data.mail>

const ask = (typed_data: unknown, rest: object = {}): Promise<Answer> =>
  service.post('/transactions/preview-typed-data', {
    ...{ network: 'Ethereum', signer_wallet_address: SIGNER, typed_data, ...rest },
  })

const previewOf = async (typed: Typed) => {
  const answer = await ask(typed)
  if (answer.status !== 200) throw new Error(answer.text)
  expect(answer.json.primary_type).toBe(typed.primaryType)
  expect(answer.json.domain).toEqual(typed.domain)
  return answer.json
}

const at = (verifyingContract: string) => ({ chainId, verifyingContract })
const IS_ACCOUNT = `The spender ${SPENDER} is an account: whoever has its key can take the tokens.`
const NO_DEADLINE = 'It has no deadline, or one in more than ten years.'
const unlimited = (of: string) =>
  `The amount of ${of} has no limit: it can be all in this wallet, also what comes later.`
const noCode = (of: string) => `There is no contract at ${of}.`
const unusual = (of: string, usual: string) => `${of} is not the usual address of ${usual}.`

type Case = readonly [
  name: string,
  typed: () => Typed,
  kind: string,
  summary: () => string,
  warnings: () => readonly string[],
]

const permitted = (value: string, more: object = {}) => ({
  ...{ owner: SIGNER, spender: SPENDER, value, nonce: 0, deadline: LATER, ...more },
})
const details = (amount: string, expiration = Number(LATER)) => ({ token, amount, expiration, nonce: 0 })

const item = (itemType: number, of: string, more: object = {}) => ({
  ...{ itemType, token: of, identifierOrCriteria: '0', startAmount: '1', endAmount: '1', ...more },
})
const NOBODY = `0x${'00'.repeat(20)}`
const amount = (value: bigint) => ({ startAmount: value.toString(), endAmount: value.toString() })

const CASES: readonly Case[] = [
  [
    'a permit',
    () => data.permit(at(token), permitted((5n * ONE).toString())),
    'permit',
    () => `Let ${SPENDER} take up to 5 “SIG” from this wallet; it can be submitted until ${UNTIL}.`,
    () => [IS_ACCOUNT],
  ],
  [
    'a permit without limits, to a contract that nobody knows',
    () => data.permit(at(token), permitted(UINT256_MAX, { spender: contract, deadline: UINT256_MAX })),
    'permit',
    () => `Let ${contract} take any amount of “SIG” from this wallet; it can be submitted at any time.`,
    () => [unlimited(token), NO_DEADLINE, `This service does not know the spender ${contract}.`],
  ],
  [
    'a permit that has ended, of another account, for every chain',
    () => data.permit({ verifyingContract: token }, permitted('1', { owner: OTHER, deadline: 1 })),
    'permit',
    () =>
      `Let ${SPENDER} take up to 0.000000000000000001 “SIG” from this wallet; it can be submitted until 1970-01-01T00:00:01.000Z.`,
    () => [
      `It is for the account ${OTHER}, not for this wallet.`,
      'It names no chain: the signature is valid on every chain with such a contract.',
      'Its deadline has passed.',
      IS_ACCOUNT,
    ],
  ],
  [
    'a permit that takes one back',
    () => data.permit(at(token), permitted('0')),
    'permit',
    () => `Let ${SPENDER} take no more “SIG” from this wallet.`,
    () => [IS_ACCOUNT],
  ],
  [
    'a permit at an address without code',
    () => data.permit(at(OTHER), permitted('7')),
    'permit',
    () =>
      `Let ${SPENDER} take up to 7 base units of the token ${OTHER} from this wallet; it can be submitted until ${UNTIL}.`,
    () => [noCode(OTHER), `${OTHER} is no token (ERC-20) that this service can read.`, IS_ACCOUNT],
  ],
  [
    'a permit of DAI',
    () => data.daiPermit(at(token), { holder: SIGNER, spender: SPENDER, nonce: 0, expiry: 0, allowed: true }),
    'permit',
    () => `Let ${SPENDER} take any amount of “SIG” from this wallet; it can be submitted at any time.`,
    () => [unlimited(token), NO_DEADLINE, IS_ACCOUNT],
  ],
  [
    'an allowance of Permit2',
    () => data.permitSingle(at(PERMIT2), { details: details(ONE.toString()), spender: SPENDER, sigDeadline: LATER }),
    'permit2_allowance',
    () => `Let ${SPENDER} take up to 1 “SIG” from this wallet; it can be submitted until ${UNTIL}.`,
    () => [noCode(PERMIT2), IS_ACCOUNT],
  ],
  [
    'several allowances at a contract that is not Permit2',
    () =>
      data.permitBatch(at(contract), {
        details: [details(UINT160_MAX, 281_474_976_710_655), details('0')],
        ...{ spender: SPENDER, sigDeadline: LATER },
      }),
    'permit2_allowance',
    () =>
      `Let ${SPENDER} take any amount of “SIG”, up to 0 “SIG” from this wallet; it can be submitted until ${UNTIL}.`,
    () => [
      unusual(contract, 'Permit2'),
      unlimited(token),
      'What it allows does not expire, or only in more than ten years.',
      IS_ACCOUNT,
    ],
  ],
  [
    'a transfer by Permit2',
    () =>
      data.permitTransferFrom(at(PERMIT2), {
        ...{ permitted: { token, amount: ONE.toString() }, spender: SPENDER, nonce: 0, deadline: LATER },
      }),
    'permit2_transfer',
    () => `Let ${SPENDER} take up to 1 “SIG” from this wallet, once until ${UNTIL}.`,
    () => [noCode(PERMIT2), IS_ACCOUNT],
  ],
  [
    'several transfers by Permit2',
    () =>
      data.permitBatchTransferFrom(at(PERMIT2), {
        permitted: [
          { token, amount: ONE.toString() },
          { token, amount: '0' },
        ],
        ...{ spender: SPENDER, nonce: 0, deadline: LATER },
      }),
    'permit2_transfer',
    () => `Let ${SPENDER} take up to 1 “SIG”, up to 0 “SIG” from this wallet, once until ${UNTIL}.`,
    () => [noCode(PERMIT2), IS_ACCOUNT],
  ],
  [
    'a transfer by Permit2 with a witness',
    () =>
      data.permitWitnessTransferFrom(at(PERMIT2), {
        ...{ permitted: { token, amount: ONE.toString() }, spender: SPENDER, nonce: 0, deadline: LATER },
        witness: { reactor: OTHER },
      }),
    'permit2_transfer',
    () => `Let ${SPENDER} take up to 1 “SIG” from this wallet, once until ${UNTIL}.`,
    () => [noCode(PERMIT2), IS_ACCOUNT, 'It has a witness: what else it does is decided by the spender.'],
  ],
  [
    'a transfer with authorization',
    () =>
      data.transferAuthorization('TransferWithAuthorization', at(token), {
        ...{ from: SIGNER, to: OTHER, value: ONE.toString(), validAfter: 0, validBefore: LATER },
        nonce: `0x${'01'.repeat(32)}`,
      }),
    'transfer_authorization',
    () => `Send 1 “SIG” to ${OTHER}; anybody can submit it until ${UNTIL}.`,
    () => [],
  ],
  [
    'a receipt with authorization',
    () =>
      data.transferAuthorization('ReceiveWithAuthorization', at(token), {
        ...{ from: SIGNER, to: OTHER, value: '0', validAfter: 0, validBefore: UINT256_MAX },
        nonce: `0x${'01'.repeat(32)}`,
      }),
    'transfer_authorization',
    () => `Send 0 “SIG” to ${OTHER}; the recipient can submit it.`,
    () => [NO_DEADLINE],
  ],
  [
    'a cancelled authorization',
    () => data.cancelAuthorization(at(token), { authorizer: SIGNER, nonce: `0x${'01'.repeat(32)}` }),
    'authorization_cancelled',
    () => `Cancel an authorization of a transfer of the token ${token}, which calls itself “Signed Token”.`,
    () => [],
  ],
  [
    'an order for coins',
    () =>
      data.seaportOrder(at(SEAPORT), {
        offerer: SIGNER,
        offer: [item(2, nfts, { identifierOrCriteria: '7' })],
        consideration: [
          { ...item(0, NOBODY, amount(2n * ONE)), recipient: SIGNER },
          { ...item(0, NOBODY, amount(ONE)), recipient: OTHER },
        ],
        endTime: LATER,
      }),
    'seaport_order',
    () => `Offer the NFT 7 of ${nfts}, which calls itself “Wizard Collection” for 2 ETH until ${UNTIL}.`,
    () => [noCode(SEAPORT)],
  ],
  [
    'an order for nothing, at a contract that is not Seaport',
    () =>
      data.seaportOrder(at(contract), {
        offerer: SIGNER,
        offer: [item(1, token, { startAmount: ONE.toString(), endAmount: '0' }), item(4, nfts)],
        ...{ consideration: [], endTime: UINT256_MAX },
      }),
    'seaport_order',
    () => `Offer 1 “SIG”, any NFT of ${nfts}, which calls itself “Wizard Collection” for nothing.`,
    () => [unusual(contract, 'Seaport'), NO_DEADLINE, 'This wallet gets nothing for it.'],
  ],
  [
    'several orders under one signature',
    () =>
      data.seaportBulkOrder(
        at(SEAPORT),
        [
          {
            offerer: SIGNER,
            offer: [item(2, nfts, { identifierOrCriteria: '7' })],
            consideration: [{ ...item(0, NOBODY, amount(2n * ONE)), recipient: SIGNER }],
            endTime: LATER,
          },
          { offerer: OTHER, offer: [item(1, token, amount(ONE))], consideration: [], endTime: 1 },
          { offerer: SIGNER, offer: [item(1, token, amount(3n * ONE))], consideration: [], endTime: LATER },
        ],
        2,
      ),
    'seaport_bulk_order',
    () =>
      'Sign 3 orders, each of which can be used alone. They offer ' +
      `(1) the NFT 7 of ${nfts}, which calls itself “Wizard Collection” for 2 ETH until ${UNTIL}; ` +
      `(2) 1 “SIG” for nothing until 1970-01-01T00:00:01.000Z; (3) 3 “SIG” for nothing until ${UNTIL}.`,
    () => [
      `It is for the account ${OTHER}, not for this wallet.`,
      noCode(SEAPORT),
      'This wallet gets nothing for the orders 2, 3.',
    ],
  ],
  [
    'one order in a tree, at a contract that is not Seaport',
    () =>
      data.seaportBulkOrder(
        at(contract),
        [{ offerer: SIGNER, offer: [item(1, token, amount(ONE))], consideration: [], endTime: UINT256_MAX }],
        1,
      ),
    'seaport_bulk_order',
    () => 'Offer 1 “SIG” for nothing.',
    () => [unusual(contract, 'Seaport'), NO_DEADLINE, 'This wallet gets nothing for it.'],
  ],
  [
    'more orders than the summary has room for',
    () => {
      const order = {
        ...{ offerer: SIGNER, offer: [item(1, token, amount(ONE))], endTime: LATER },
        consideration: [{ ...item(0, NOBODY, amount(ONE)), recipient: SIGNER }],
      }
      return data.seaportBulkOrder(at(contract), Array.from({ length: 12 }).fill(order) as (typeof order)[], 4)
    },
    'seaport_bulk_order',
    () =>
      `Sign 12 orders, each of which can be used alone. They offer ${Array.from({ length: 10 }, (_, index) => `(${index + 1}) 1 “SIG” for 1 ETH until ${UNTIL}`).join('; ')}; and 2 more.`,
    () => [unusual(contract, 'Seaport')],
  ],
  [
    'a tree without an order',
    () => data.seaportBulkOrder(at(contract), [], 1),
    'seaport_bulk_order',
    () => 'Sign a list of orders that is empty.',
    () => [unusual(contract, 'Seaport'), NO_DEADLINE],
  ],
  [
    'orders in a list that Seaport does not accept',
    () => {
      const { types, ...rest } = data.seaportBulkOrder(at(contract), [], 1)
      const tree = [{ name: 'tree', type: 'OrderComponents[]' }]
      return { ...rest, types: { ...types, BulkOrder: tree } }
    },
    'unknown',
    () => `Sign “BulkOrder” for the contract ${contract}. This service does not know what it does.`,
    () => ['By its name it may let somebody take assets of this wallet.'],
  ],
  [
    'a message of a Safe',
    () => data.safeMessage(at(contract), { message: '0x1234' }),
    'safe_message',
    () => `Sign a message for the Safe ${contract}; only its bytes are known.`,
    () => ['A contract that asks the Safe may accept it for anything.'],
  ],
  [
    'a permit of another form',
    () => ({
      ...data.permit(at(contract), {}),
      types: data.typesOf({ Permit: 'address spender' }),
      message: { spender: OTHER },
    }),
    'unknown',
    () => `Sign “Permit” for the contract ${contract}. This service does not know what it does.`,
    () => ['By its name it may let somebody take assets of this wallet.'],
  ],
  [
    'a permit for no contract',
    () => data.permit({ chainId }, permitted('1')),
    'unknown',
    () => 'Sign “Permit”. This service does not know what it does.',
    () => ['The domain names no contract.', 'By its name it may let somebody take assets of this wallet.'],
  ],
]

test.each(CASES)('%s is told in words, with its dangers', async (_, typed, kind, summary, warnings) => {
  const preview = await previewOf(typed())
  expect(preview.kind).toBe(kind)
  expect(preview.summary).toBe(summary())
  expect(preview.warnings).toEqual(warnings())
})

describe('what it moves', () => {
  test('is in whole tokens and in base units', async () => {
    const { changes } = await previewOf(data.permit(at(token), permitted((25n * 10n ** 17n).toString())))
    expect(changes).toEqual([
      {
        effect: 'may_take',
        amount: '2.5',
        raw_amount: '2500000000000000000',
        from: SIGNER,
        to: SPENDER,
        token: expect.objectContaining({ contract_address: token, symbol: 'SIG', decimals: 18 }),
        nft: null,
      },
    ])
    const endless = (await previewOf(data.permit(at(token), permitted(UINT256_MAX)))).changes
    expect(endless).toMatchObject([{ amount: 'unlimited', raw_amount: UINT256_MAX }])
  })

  test('of an order is what is given and what each recipient gets', async () => {
    const consideration = [{ ...item(0, NOBODY, amount(ONE)), recipient: OTHER }]
    const offer = [item(3, nfts, { identifierOrCriteria: '7', startAmount: '2', endAmount: '5' })]
    const order = { offerer: SIGNER, offer, consideration, endTime: LATER }
    const { changes } = await previewOf(data.seaportOrder(at(SEAPORT), order))
    expect(changes).toMatchObject([
      {
        effect: 'sends',
        amount: '5',
        from: SIGNER,
        to: '',
        token: null,
        nft: { contract_address: nfts, token_id: '7' },
      },
      { effect: 'receives', amount: '1', from: '', to: OTHER, token: { contract_address: 'ETH' }, nft: null },
    ])
  })

  test('of several orders is what each of them moves, also beyond the summary', async () => {
    const order = (id: number) => ({
      ...{ offerer: SIGNER, offer: [item(2, nfts, { identifierOrCriteria: `${id}` })], endTime: LATER },
      consideration: [{ ...item(0, NOBODY, amount(ONE)), recipient: SIGNER }],
    })
    const { changes } = await previewOf(
      data.seaportBulkOrder(at(SEAPORT), [...Array.from({ length: 11 }).keys()].map(order), 4),
    )
    expect(
      changes.map(({ effect, nft }: { effect: string; nft: { token_id: string } | null }) => [effect, nft?.token_id]),
    ).toEqual(
      [...Array.from({ length: 11 }).keys()].flatMap((id) => [
        ['sends', `${id}`],
        ['receives', undefined],
      ]),
    )
  })

  test('of unknown typed data is every value, in the order of its types', async () => {
    const preview = await previewOf(data.mail({ name: 'Mail “1”', ...at(contract) }))
    expect(preview).toMatchObject({ kind: 'unknown', warnings: [] })
    const states = (path: string, type: string, value: string) => ({ effect: 'states', path, type, value })
    expect(preview.changes).toEqual([
      states('from.name', 'string', 'Cow'),
      states('from.wallet', 'address', '0xCD2a3d9F938E13CD947Ec05AbC7FE734Df8DD826'),
      states('to.name', 'string', 'Bob'),
      states('to.wallet', 'address', '0xbBbBBBBbbBBBbbbBbbBbbbbBBbBbbbbBbBbbBBbB'),
      states('contents', 'string', 'Hello, Bob!'),
    ])
    const lists = {
      ...data.mail(at(contract)),
      types: data.typesOf({ Mail: 'uint8[2][] many' }),
      message: { many: [[1, 2]] },
    }
    expect((await previewOf(lists as never)).changes).toEqual([
      states('many.0.0', 'uint8', '1'),
      states('many.0.1', 'uint8', '2'),
    ])
    const alone = { domain: at(contract), types: {}, primaryType: 'EIP712Domain', message: {} }
    expect((await previewOf(alone as never)).changes).toEqual([])
  })
})

describe('the transaction of a Safe', () => {
  let safe: Hex
  const transferring = (to: string, value: bigint) =>
    encodeFunctionData({ abi: ERC20, functionName: 'transfer', args: [getAddress(to), value] })

  beforeAll(async () => {
    const { contractWallets } = service.ctx.chains.get('Ethereum')
    if (contractWallets === null) throw new Error('Ethereum has contract wallets')
    const wallet = contractWallets.of(SIGNER)
    const { to, input } = contractWallets.deployment(wallet)
    await chain.send({ to: getAddress(to ?? ''), data: input })
    safe = getAddress(wallet.address)
    const minted = { address: getAddress(token), abi: parseAbi(['function mint(address to, uint256 value)']) }
    const mint = encodeFunctionData({ ...minted, functionName: 'mint', args: [safe, 5n * ONE] })
    await chain.send({ to: getAddress(token), data: mint })
  })

  test('is simulated and decoded as a transaction of the Safe', async () => {
    const preview = await previewOf(data.safeTransaction(at(safe), { to: token, data: transferring(OTHER, 2n * ONE) }))
    expect(preview).toMatchObject({
      kind: 'safe_transaction',
      summary: `Agree, as an owner of the Safe ${safe}, to make one call.`,
      warnings: [],
    })
    expect(preview.changes).toMatchObject([
      {
        effect: 'calls',
        call: {
          from: safe,
          to: token,
          function_name: 'transfer',
          arguments: { to: OTHER },
          simulation: { success: true, asset_changes: [{ amount: '2', from: safe, to: OTHER }] },
        },
      },
    ])
  })

  test('of several calls is simulated in sequence', async () => {
    const calls = [transferring(OTHER, 4n * ONE), transferring(OTHER, 2n * ONE)].map((call) =>
      encodePacked(
        ['uint8', 'address', 'uint256', 'uint256', 'bytes'],
        [0, getAddress(token), 0n, BigInt(size(call)), call],
      ),
    )
    const several = encodeFunctionData({ abi: MULTI_SEND, args: [concatHex(calls)] })
    const message = { to: SAFE_ADDRESSES.multiSendCallOnly, data: several, operation: 1 }
    const preview = await previewOf(data.safeTransaction(at(safe), message))
    expect(preview.summary).toBe(`Agree, as an owner of the Safe ${safe}, to make 2 calls.`)
    const simulated = preview.changes.map(({ call }: { call: { simulation: unknown } }) => call.simulation)
    expect(simulated).toMatchObject([{ success: true }, { success: false }])
  })

  test.each([
    [
      'other code',
      () => ({ to: contract, data: '0x12345678', operation: 1 }),
      () => [`It runs the code of ${contract} as its own, which can do anything with the Safe.`],
    ],
    [
      'MultiSend with data that it does not take',
      () => ({ to: SAFE_ADDRESSES.multiSendCallOnly, data: '0x12345678', operation: 1 }),
      () => [
        `It runs the code of ${SAFE_ADDRESSES.multiSendCallOnly} as its own, which can do anything with the Safe.`,
      ],
    ],
    [
      'a call of itself, and a refund',
      () => ({ to: safe, data: '0x12345678', gasPrice: 1 }),
      () => [
        'It changes the Safe itself: its owners, its threshold or its modules.',
        'The Safe pays a refund of gas to whoever submits it.',
      ],
    ],
  ])('of %s has a warning', async (_, message, warnings) => {
    const preview = await previewOf(data.safeTransaction(at(safe), message()))
    expect(preview.warnings).toEqual(warnings())
    // What cannot be simulated is shown in full.
    const effects = new Set(preview.changes.map(({ effect }: { effect: string }) => effect))
    expect([...effects]).toEqual(['operation' in message() ? 'states' : 'calls'])
  })
})

test('bad typed data is refused as for a signature', async () => {
  const typed = data.permit({ chainId: 1, verifyingContract: token }, permitted('1'))
  const told = ({ status, json }: Answer) => [status, json.code]
  const wrongChain = await ask(typed)
  expect(told(wrongChain)).toEqual([400, 'invalid_input'])
  expect(wrongChain.json.error).toStartWith('Field "typed_data.domain.chainId" must be')
  expect(told(await ask(data.permit(at(token), {})))).toEqual([400, 'invalid_input'])
  const polkadot = { network: 'Polkadot', signer_wallet_address: '15oF4uVJwmo4TdGW7VfQxNLavjCXviqxT9S1MgbjMNHr6Sp5' }
  expect(told(await ask(data.mail({}), polkadot))).toEqual([501, 'not_implemented'])
})

test('a name of a contract cannot look like words of ours', async () => {
  const odd = { ...data.mail({ ...at(contract) }), primaryType: 'Mail' }
  const types = { ...odd.types, [`M${'x'.repeat(200)}`]: odd.types.Mail ?? [] }
  const preview = await previewOf({ ...odd, types, primaryType: `M${'x'.repeat(200)}` })
  expect(preview.summary).toBe(
    `Sign “M${'x'.repeat(63)}” for the contract ${contract}. This service does not know what it does.`,
  )
})
