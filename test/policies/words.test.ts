// What the owner of a wallet reads before they agree to a policy.

import { describe, expect, test } from 'bun:test'
import type { AddressFacts } from '../../src/chains/chain.ts'
import type { KnownAddress, Proposal } from '../../src/signing/policies/reading.ts'
import { code, name, type Sentence, say } from '../../src/signing/policies/sentence.ts'
import { policyWords } from '../../src/signing/policies/words.ts'

const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const TOKEN = '0x5FbDB2315678afecb367f032d93F642f64180aa3'
const FRIEND = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const ETHER = 10n ** 18n
const now = new Date('2026-01-01T00:00:00Z')

const ether = { word: 'ethereum', name: 'Ether', symbol: 'ETH', decimals: 18, displayDecimals: 4, logoUrl: '' }
const dot = { ...ether, symbol: 'DOT', decimals: 10 }

const known = (address: string, facts: Partial<AddressFacts> | null, isListed = false): [string, KnownAddress] => {
  const none = { isContract: true, standard: 'other', name: '', symbol: '', decimals: 0 } as const
  return [address, { address, facts: facts === null ? null : { ...none, ...facts }, isListed }]
}
const coin = known(TOKEN, { standard: 'erc20', name: 'Test Coin', symbol: 'TST', decimals: 6 }, true)
const doors = known(TOKEN, { standard: 'erc721', name: 'Doors', symbol: 'DOOR' })
const friend = known(FRIEND, { isContract: false })

const rule = (argument: string, operator: string, value: string) =>
  ({ argument, operator, value }) as Proposal['argumentRules'][number]
const TO = rule('to', 'eq', TOKEN)
const calls = (value: string) => rule('decodedInput.function', 'eq', value)
/** As it is compiled. */
const declared = (declaration: string, value = declaration.split('(')[0] ?? '') => ({ ...calls(value), declaration })
const TRANSFER = declared('transfer(address to, uint256 value)')
const APPROVE = declared('approve(address spender, uint256 value)')
const APPROVE_ALL = declared('setApprovalForAll(address operator, bool approved)')

const LIMITS = {
  expiresAt: new Date('2099-01-31T12:00:00Z'),
  maxUses: 100,
  maxTotalValue: ETHER,
  maxTotalFee: ETHER / 50n,
  tokenLimits: [],
  rollingLimits: [],
}

const proposal = (argumentRules: Proposal['argumentRules'], rest: Partial<Proposal> = {}): Proposal => ({
  coin: ether,
  withoutRecipient: 'creation',
  network: 'Ethereum',
  walletAddress: WALLET,
  batchMax: 1,
  name: 'Mint doors',
  approvers: null,
  isFunctionUnknown: false,
  known: new Map([coin, friend]),
  argumentRules,
  ...LIMITS,
  ...rest,
})

const textOf = (sentence: Sentence) => sentence.map(({ text }) => text).join('')

const wordsOf = (argumentRules: Proposal['argumentRules'], rest: Partial<Proposal> = {}) => {
  const words = policyWords(proposal(argumentRules, rest), { now, spent: null })
  return {
    may: words.may.map(textOf),
    limits: words.limits.map(textOf),
    warnings: words.warnings.map(textOf),
    cost: textOf(words.cost),
    wallet: textOf(words.wallet),
  }
}

describe('a policy in words', () => {
  test('describes payments to one account, with the limits and the total cost', () => {
    expect(wordsOf([rule('to', 'eq', FRIEND), rule('value', 'le', '5000000000000000')])).toEqual({
      wallet: `${WALLET} on Ethereum`,
      may: [
        'Pay ETH. It may not call contracts.',
        `Only to the account ${FRIEND}.`,
        'Each transaction sends at most 0.005 ETH.',
      ],
      limits: [
        'At most 100 times.',
        'Until 2099-01-31T12:00:00.000Z.',
        'It sends at most 1 ETH in all.',
        'Fees of at most 0.02 ETH in all.',
      ],
      // 100 × 0.005 ETH is less than 1 ETH.
      cost: 'At most 0.52 ETH in all: 0.5 ETH that it sends, and 0.02 ETH for fees.',
      warnings: [],
    })
  })

  test('describes transfers of a listed token in its own units', () => {
    const rules = [
      TO,
      TRANSFER,
      rule('decodedInput.to', 'eq', FRIEND),
      rule('decodedInput._value', 'le', '1500000'),
      rule('value', 'eq', '0'),
    ]
    expect(wordsOf(rules)).toMatchObject({
      may: [
        'Call a contract.',
        `Only with Test Coin (TST), ${TOKEN}.`,
        'Only by the function transfer(address to, uint256 value), which sends tokens.',
        `Only to the account ${FRIEND}.`,
        'Only if the amount (_value) is at most 1.5 TST.',
        'Without sending any ETH.',
      ],
      cost: 'At most 0.02 ETH, for fees. It sends no ETH. And at most 150 TST.',
      warnings: [],
    })
  })

  test('takes the meaning of arguments from their positions, not from their names', () => {
    const wordsBy = (declaration: string, ...rules: Proposal['argumentRules']) =>
      wordsOf([TO, declared(declaration, 'transfer(address,uint256)'), ...rules])
    const named = wordsBy('transfer(address dst, uint256 rawAmount)', rule('decodedInput.rawAmount', 'lt', '1000001'))
    expect(named.may.slice(2)).toEqual([
      'Only by the function transfer(address dst, uint256 rawAmount), which sends tokens.',
      'Only if the amount (rawAmount) is less than 1.000001 TST.',
    ])
    const without = wordsBy(
      'transfer(address, uint256)',
      rule('decodedInput.1', 'le', '5'),
      rule('decodedInput.0', 'eq', FRIEND),
    )
    expect(without.may.slice(3)).toEqual([
      'Only if the amount (1) is at most 0.000005 TST.',
      `Only to the account ${FRIEND}.`,
    ])
    expect(without.warnings).toEqual([])
  })

  test('does not treat a function as one of the standard only because of its name', () => {
    for (const declaration of [
      'transfer(address to, uint256 value, bytes data)',
      'transfer(uint256 value, address to)',
      'transfer((address to, uint256 value) call)',
    ]) {
      const words = wordsOf([TO, declared(declaration), rule('decodedInput.value', 'le', '5')])
      expect(words.may.slice(2)).toEqual([`Only by the function ${declaration}.`, 'Only if value is at most 5.'])
      expect(words.cost).toEndWith('Tokens and NFTs that the contract takes are not counted.')
    }
  })

  test('says of a contract on no list that its name is its own claim', () => {
    const rules = [TO, declared('safeMint(address to, string uri)'), rule('decodedInput.to', 'eq', WALLET)]
    const words = wordsOf(rules, { known: new Map([doors, known(WALLET, { isContract: false })]) })
    expect(words.may).toEqual([
      'Call a contract.',
      `Only with the contract ${TOKEN}, which calls itself “Doors” (DOOR).`,
      'Only by the function safeMint(address to, string uri), which makes an NFT.',
      `Only for this wallet itself, ${WALLET}.`,
    ])
    expect(words.warnings).toEqual([])
  })

  test('shows unusual rules as they are written', () => {
    const rules = [
      rule('to', 'ne', FRIEND),
      calls('swap'),
      rule('decodedInput.path.0', 'eq', TOKEN.toLowerCase()),
      rule('decodedInput.order.amount', 'gt', '0xff'),
      rule('decodedInput.ids.length', 'ge', '2'),
      rule('decodedInput.note', 'ne', ''),
      rule('decodedInput._function', 'eq', '\u202eabc'),
      rule('value', 'ne', '-1'),
      rule('value', 'gt', '1'),
    ]
    expect(wordsOf(rules).may.slice(1)).toEqual([
      `Not with the account ${FRIEND}.`,
      'Only by the function swap.',
      `Only if path.0 is ${TOKEN.toLowerCase()}.`,
      'Only if order.amount is more than 0xff.',
      'Only if ids.length is at least 2.',
      'Only if note is not empty.',
      'Only if _function is \\u{202e}abc.',
      'Only if the value is not -1.',
      'Each transaction sends more than 0.000000000000000001 ETH.',
    ])
  })

  test('says who must approve each use', () => {
    const { limits } = wordsOf([], { approvers: { of: 2, people: 3 } })
    expect(limits.at(-1)).toBe("Each time 2 of 3 of the developer's users must approve it first.")
  })

  test('counts a batch of a contract wallet as often as it has transactions', () => {
    const rules = [rule('to', 'eq', FRIEND), rule('value', 'lt', '1001')]
    const words = wordsOf(rules, { batchMax: 100, maxUses: 1, maxTotalValue: null, maxTotalFee: 0n })
    expect(words.limits[0]).toBe('Once. Each time can be up to 100 transactions at once.')
    expect(words.cost).toBe(
      'At most 0.0000000000001 ETH in all: 0.0000000000001 ETH that it sends, and 0 ETH for fees.',
    )
  })

  test('shows what was used, and that a policy has ended', () => {
    const spent = { uses: 3, spentValue: ETHER / 4n, spentFee: 10n ** 15n, limitCounts: [] }
    const ended = proposal([TO], { expiresAt: new Date('2025-12-31T00:00:00Z') })
    const words = policyWords(ended, { now, spent })
    expect(words.used.map(textOf)).toEqual([
      'Used 3 times, of at most 100.',
      'Sent: 0.25 ETH of 1 ETH.',
      'Counted for fees: 0.001 ETH of 0.02 ETH.',
    ])
    expect(textOf(words.limits[1] ?? [])).toBe('It ended: 2025-12-31T00:00:00.000Z.')
    const unused = policyWords(ended, { now, spent: { uses: 0, spentValue: 0n, spentFee: 0n, limitCounts: [] } })
    expect(unused.used.map(textOf)).toEqual(['Not used yet.'])
  })
})

describe('a limit on a token, or a rolling limit,', () => {
  const token = (maxTotal: bigint, perSeconds: number | null) => ({
    tokenLimits: [{ contractAddress: TOKEN, maxTotal: String(maxTotal), perSeconds }],
  })
  const rolling = (perSeconds: number, maxTotalValue: bigint | null, maxUses: number | null) => ({
    rollingLimits: [{ perSeconds, maxTotalValue: maxTotalValue?.toString() ?? null, maxUses }],
  })
  const transfer = [
    TO,
    declared('transfer(address to, uint256 value)'),
    rule('decodedInput.to', 'eq', FRIEND),
    rule('value', 'eq', '0'),
  ]

  test('is shown in units of the token, and is the highest cost', () => {
    const words = wordsOf(transfer, token(1_500_000n, null))
    expect(words.limits.at(-1)).toBe(
      `With Test Coin (TST), ${TOKEN}, it sends or approves at most 1.5 TST in all, and does nothing else.`,
    )
    expect(words.cost).toBe('At most 0.02 ETH, for fees. It sends no ETH. And at most 1.5 TST.')
    expect(words.warnings).toEqual([])
    // A limit that nobody can reach is none.
    const endless = wordsOf(transfer, token(2n ** 256n - 1n, null))
    expect(endless.cost).toEndWith('And all TST in this wallet.')
    expect(endless.warnings).toEqual(['No limit says how many TST it takes: it can be all.'])
    // A token that does not say its decimals is counted in base units.
    const unknown = new Map([
      known(TOKEN, { standard: 'erc20', name: 'Test Coin', symbol: 'TST', decimals: null }, true),
    ])
    expect(wordsOf(transfer, { ...token(1_500_000n, null), known: unknown }).cost).toEndWith(
      'And at most 1,500,000 base units of TST.',
    )
  })

  test('is shown with its period', () => {
    const words = wordsOf(transfer, token(1_500_000n, 604_800))
    expect(words.limits.at(-1)).toContain('at most 1.5 TST in any 7 days, and does nothing else.')
    expect(words.cost).toBe('At most 0.02 ETH, for fees. It sends no ETH. And at most 1.5 TST in any 7 days.')
    const coins = wordsOf([rule('to', 'eq', FRIEND)], { ...rolling(3_600, ETHER / 4n, 1), maxTotalValue: null })
    expect(coins.limits.slice(-2)).toEqual(['At most once in any hour.', 'It sends at most 0.25 ETH in any hour.'])
    expect(coins.cost).toBe('At most 0.25 ETH in any hour that it sends, and 0.02 ETH for fees in all.')
    expect(coins.warnings).toEqual([])
    expect(wordsOf([TO], rolling(90, null, 2)).limits.at(-1)).toBe('At most 2 times in any 90 seconds.')
  })

  test('limits what an approval lets others take', () => {
    const approve = [
      TO,
      declared('approve(address spender, uint256 value)'),
      rule('decodedInput.spender', 'eq', FRIEND),
    ]
    expect(wordsOf(approve, token(7n, null)).warnings).toEqual([
      `It can let the account ${FRIEND} take TST from this wallet, up to the limit above, also after this has ended.`,
    ])
  })

  test('on an unknown contract is shown in its smallest units', () => {
    const { limits } = wordsOf([rule('value', 'ge', '0')], { ...token(7n, null), known: new Map() })
    expect(limits.at(-1)).toBe(
      `With ${TOKEN}, it sends or approves at most 7 of the smallest units in all, and does nothing else.`,
    )
  })

  test('on the value allows no call of a runtime', () => {
    const call = [rule('decodedInput.function', 'eq', 'balances.transfer_keep_alive')]
    const polkadot = { coin: dot, withoutRecipient: 'runtime_call', network: 'Polkadot', maxTotalValue: null } as const
    const { may } = wordsOf(call, { ...polkadot, ...rolling(60, 1n, null) })
    expect(may[0]).toBe('Nothing: no transaction can match all of this.')
    expect(wordsOf(call, { ...polkadot, ...rolling(60, null, 1) }).may[0]).toBe('Call Polkadot itself.')
  })
})

describe('a warning', () => {
  const warningsOf = (rules: Proposal['argumentRules'], rest: Partial<Proposal> = {}) => wordsOf(rules, rest).warnings
  const free = { expiresAt: null, maxUses: null, maxTotalValue: null }

  test('is given for each limit that is missing', () => {
    const words = wordsOf([rule('value', 'ge', '1')], { ...free, maxTotalFee: 2n ** 100n })
    expect(words.warnings).toEqual([
      'It has no end.',
      'No limit says how much ETH it sends: it can be all that is in this wallet.',
      'No limit says how much it spends on fees.',
      'No rule says who is paid: it can be anybody.',
    ])
    expect(words.cost).toBe('All ETH in this wallet.')
    expect(words.limits.slice(0, 2)).toEqual(['Any number of times.', 'Without an end, until you take it back.'])
  })

  test('is not given for coins that rules and uses limit', () => {
    const value = rule('value', 'le', '1000')
    const to = rule('to', 'eq', FRIEND)
    const endless = ['No limit says how much ETH it sends: it can be all that is in this wallet.']
    expect(warningsOf([to, value], { maxTotalValue: null })).toEqual([])
    expect(warningsOf([to, rule('value', 'lt', '1')], { maxTotalValue: null, maxUses: null })).toEqual([])
    expect(warningsOf([to, value], { maxTotalValue: null, maxUses: null })).toEqual(endless)
    expect(warningsOf([to, rule('value', 'ge', '1')], { maxTotalValue: null })).toEqual(endless)
    // A limit that nobody can reach is none.
    expect(warningsOf([to], { maxTotalValue: 2n ** 256n - 1n })).toEqual(endless)
  })

  test('is given for calls of any contract', () => {
    expect(warningsOf([calls('mint')])).toEqual([
      'No rule says which contract it calls: it can be any, also one that is made to harm you.',
    ])
    expect(warningsOf([calls('mint'), rule('to', 'ne', FRIEND)])).toHaveLength(1)
  })

  test('is given for a transfer of tokens without a limit, and to anybody', () => {
    const endless = 'No limit says how many TST it takes: it can be all.'
    expect(warningsOf([TO, TRANSFER])).toEqual([endless, 'No rule says who gets what it sends: it can be anybody.'])
    expect(wordsOf([TO, TRANSFER]).cost).toEndWith('And all TST in this wallet.')
    const bounded = [TO, TRANSFER, rule('decodedInput.to', 'eq', FRIEND), rule('decodedInput.value', 'le', '1')]
    expect(warningsOf(bounded)).toEqual([])
    expect(warningsOf(bounded, { maxUses: null })).toEqual([endless])
    expect(warningsOf([TO, declared('burn(uint256 value)')])).toEqual([endless])
    expect(warningsOf([TO, declared('mint(address to, uint256 value)')])).toEqual([])
  })

  test('is given for each approval, and says if it has no limit', () => {
    const spender = rule('decodedInput.spender', 'eq', FRIEND)
    const endless = (who: string) =>
      `It can let ${who} take TST from this wallet, all of them, without a limit, also after this has ended.`
    const whom = `the account ${FRIEND}`
    expect(warningsOf([TO, APPROVE])).toEqual([endless('anybody')])
    expect(warningsOf([TO, APPROVE, spender])).toEqual([endless(whom)])
    expect(wordsOf([TO, APPROVE, spender]).may.at(-1)).toBe(`Only ${whom} may then take it.`)
    const amount = (value: string) => rule('decodedInput.value', 'le', value)
    expect(warningsOf([TO, APPROVE, spender, amount(String(2n ** 96n - 1n))])).toEqual([endless(whom)])
    expect(warningsOf([TO, APPROVE, spender, amount('5')])).toEqual([
      `It can let ${whom} take TST from this wallet, up to the amount above each time, also after this has ended.`,
    ])
    const increase = declared('increaseAllowance(address spender, uint256 addedValue)')
    expect(warningsOf([TO, increase])).toEqual([endless('anybody')])
    expect(warningsOf([TO, declared('decreaseAllowance(address spender, uint256 subtractedValue)')])).toEqual([])
  })

  test('is given for a function with the name of an approval, of any contract and with any arguments', () => {
    const somebody =
      'It can let somebody take tokens or NFTs from this wallet, without a limit, also after this has ended.'
    const unknown = { known: new Map([known(TOKEN, null)]) }
    expect(warningsOf([TO, APPROVE, rule('decodedInput.value', 'le', '5')], unknown)).toEqual([somebody])
    expect(warningsOf([TO, APPROVE_ALL], unknown)).toEqual([somebody])
    const permit2 = declared('approve(address token, address spender, uint160 amount, uint48 expiration)')
    expect(warningsOf([TO, permit2])).toEqual([somebody])
  })

  test('is given for NFTs that are given away or destroyed, and the cost names them', () => {
    const given = 'safeTransferFrom(address from, address to, uint256 tokenId)'
    const words = (declaration: string, facts: Partial<AddressFacts>) =>
      wordsOf([TO, declared(declaration, declaration.replaceAll(/ \w+/g, '')), rule('decodedInput.to', 'eq', FRIEND)], {
        known: new Map([known(TOKEN, facts), friend]),
      })
    const erc721 = words(given, { standard: 'erc721', name: 'Doors' })
    expect(erc721.cost).toEndWith(' And NFTs of this collection.')
    expect(erc721.warnings).toEqual(['It can give away NFTs of this collection that are in this wallet.'])
    expect(words('burn(uint256 tokenId)', { standard: 'erc721' }).warnings).toEqual([
      'It can destroy NFTs of this collection that are in this wallet.',
    ])
    const many = 'safeBatchTransferFrom(address from, address to, uint256[] ids, uint256[] values, bytes data)'
    expect(words(many, { standard: 'erc1155' }).warnings).toEqual(erc721.warnings)
    // Those that are made take nothing.
    expect(words('safeMint(address to, uint256 tokenId)', { standard: 'erc721' }).warnings).toEqual([])
  })

  test('is given for a function that only the developer knows', () => {
    const rules = [TO, declared('join(address who)'), rule('value', 'eq', '0')]
    expect(wordsOf(rules).warnings).toEqual([])
    expect(wordsOf(rules, { isFunctionUnknown: true }).warnings).toEqual([
      'This service does not know the function. Its name is what the developer says, and it may do something else.',
    ])
  })

  test('is given for approvals of NFTs, but not for ending one', () => {
    const all = 'It can let anybody take every NFT of this collection from this wallet, also after this has ended.'
    const approved = (value: string) => rule('decodedInput.approved', 'eq', value)
    const rest = { known: new Map([doors]) }
    expect(warningsOf([TO, APPROVE_ALL], rest)).toEqual([all])
    expect(warningsOf([TO, APPROVE_ALL, approved('true')], rest)).toEqual([all])
    expect(warningsOf([TO, APPROVE_ALL, approved('false')], rest)).toEqual([])
    expect(warningsOf([TO, declared('approve(address approved, uint256 tokenId)')], rest)).toEqual([
      'It can let anybody take NFTs from this wallet, also after this has ended.',
    ])
    expect(wordsOf([TO, APPROVE_ALL, approved('true')], rest).cost).toEndWith(' And NFTs of this collection.')
    expect(wordsOf([TO, APPROVE_ALL, approved('false')], rest).cost).not.toContain('NFTs')
    expect(warningsOf([TO, declared('safeTransferFrom(address from, address to, uint256 tokenId)')], rest)).toEqual([
      'It can give away NFTs of this collection that are in this wallet.',
      'No rule says who gets what it sends: it can be anybody.',
    ])
  })
})

describe('a policy for calls of a Substrate runtime', () => {
  const rest = { coin: dot, withoutRecipient: 'runtime_call', network: 'Polkadot', maxTotalValue: null } as const

  test('describes transfers of the coin', () => {
    const rules = [
      calls('balances.transfer_keep_alive'),
      rule('decodedInput.value', 'le', '20000000000'),
      rule('decodedInput.dest', 'eq', FRIEND),
    ]
    expect(wordsOf(rules, { ...rest, maxTotalFee: 10n ** 10n })).toMatchObject({
      may: [
        'Call Polkadot itself.',
        'Only by the function balances.transfer_keep_alive.',
        'Only if the amount (value) is at most 2 DOT.',
        `Only to the account ${FRIEND}.`,
      ],
      cost: 'At most 201 DOT in all: 200 DOT that it sends, and 1 DOT for fees.',
      warnings: [],
    })
    expect(wordsOf(rules.slice(0, 2), rest).warnings).toEqual(['No rule says who is paid: it can be anybody.'])
  })

  test('warns of calls that contain others, and of assets that cannot be counted', () => {
    expect(wordsOf([calls('proxy.add_proxy')], rest).warnings).toEqual([
      'No limit says how much DOT it sends: it can be all that is in this wallet.',
      'This call can hold other calls: it can do anything that this wallet can do.',
    ])
    const sending = wordsOf([calls('assets.transfer_keep_alive'), rule('decodedInput.target', 'eq', FRIEND)], rest)
    expect(sending.warnings.at(-1)).toBe(
      'The limits above count only coins and fees. This call can take more: tokens, NFTs, or rights over this wallet.',
    )
    expect(sending.cost).toEndWith(' Everything else that this call can take is not counted.')
    expect(wordsOf([calls('balances.transfer_all')], { ...rest, maxTotalValue: 1n }).may[0]).toBe(
      'Nothing: no transaction can match all of this.',
    )
  })
})

test('rules on call data without a rule on the function allow nothing', () => {
  const words = wordsOf([TO, rule('decodedInput.value', 'le', '1')])
  expect(words.may[0]).toBe('Nothing: no transaction can match all of this.')
  expect(words.warnings).toEqual([])
})

describe("a stranger's text", () => {
  test('is shortened, on one line, and without characters that hide or reorder text', () => {
    expect(name('  Safe\u202e ecnalab\n\u0007you  ')).toEqual({ kind: 'name', text: 'Safe ecnalab you' })
    expect(name('a'.repeat(41)).text).toBe(`${'a'.repeat(39)}…`)
    expect(name(`Z${'\u0301'.repeat(50)}`).text).toBe('Z\u0301\u0301')
    expect(name('a'.repeat(1_000_000)).text).toHaveLength(40)
  })

  test('is a separate part, and a value is shown whole', () => {
    const words = policyWords(proposal([TO], { name: '<b>All is well</b>' }), { now, spent: null })
    expect(words.name).toEqual({ kind: 'name', text: '<b>All is well</b>' })
    expect(code('a\u200bb\u00a0c\n')).toEqual({ kind: 'code', text: 'a\\u{200b}b\\u{a0}c\\u{a}' })
    expect(say`Only ${name('Mallory')}${''}.`).toEqual([
      { kind: 'text', text: 'Only ' },
      { kind: 'name', text: 'Mallory' },
      { kind: 'text', text: '.' },
    ])
  })
})
