// What approvers read of a request, of texts that contracts and apps can choose.

import { describe, expect, test } from 'bun:test'
import { approvalWords } from '../../src/signing/approvals/words.ts'
import type { ReadRequest } from '../../src/signing/policies/request.ts'
import type { Sentence } from '../../src/signing/policies/sentence.ts'
import type { PreviewResult } from '../../src/signing/transactions/preview-schema.ts'

const TO = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const WALLET = '0xf39Fd6e51aad88F6F4ce6aB8827279cffFb92266'
const coin = {
  coin: { name: 'Ether', symbol: 'ETH', decimals: 18, logoUrl: '', word: 'ether', displayDecimals: 4 },
} as const

const request = (intents: ReadRequest['intents'], action: ReadRequest['action'] = 'send'): ReadRequest => ({
  action,
  network: 'Ethereum',
  wallet_address: WALLET,
  intents,
})

const preview = (rest: Partial<PreviewResult> = {}): PreviewResult => ({
  network: 'Ethereum',
  from: WALLET,
  to: TO,
  contract: null,
  function_name: null,
  arguments: null,
  simulation: { success: true, asset_changes: [], error: null },
  ...rest,
})

const textOf = (sentence: Sentence) => sentence.map(({ text }) => text).join('')
const wordsOf = (read: ReadRequest, previews: readonly PreviewResult[] | null) => {
  const { wants, calls, warnings } = approvalWords(coin, { request: read, previews, signed: null })
  return { wants: textOf(wants), calls: calls.map((call) => call.map(textOf)), warnings: warnings.map(textOf) }
}

describe('a request in words', () => {
  test('describes a payment and the fields that the app has fixed', () => {
    const intents = [{ to: TO, value: '1500000000000000000', input: '0x', gasLimit: '30000', nonce: '7' }]
    expect(wordsOf(request(intents), [preview()])).toEqual({
      wants: `Send a transaction of the wallet ${WALLET} on Ethereum.`,
      calls: [[`It sends 1.5 ETH to ${TO}.`, 'The app has fixed gasLimit 30000, nonce 7.']],
      warnings: [],
    })
  })

  test('names the transaction that a speed-up signs again', () => {
    const again = {
      ...request([{ to: TO, value: '1', input: '0x' }], 'speed-up'),
      transaction_id: 'a-b',
      signer_nonce: '7',
    }
    expect(wordsOf(again, [preview()]).wants).toBe(
      `Send a waiting transaction again, at higher fees, of the wallet ${WALLET} on Ethereum: the transaction a-b, with the nonce 7.`,
    )
  })

  test('says what is asked for with a token', () => {
    const input = '0x40c10f19'
    const token = {
      uuid: '',
      network: 'Ethereum',
      contract_address: TO,
      name: 'USD',
      symbol: 'USDC',
      decimals: 6,
      display_decimals: 2,
      logo_url: '',
    }
    const contract = {
      network: 'Ethereum',
      address: TO,
      type: 'token' as const,
      name: 'USD',
      logo_url: '',
      token,
      nft: null,
    }
    const args = { to: WALLET, value: '1500000' }
    const minting = preview({ function_name: 'mint', arguments: args, contract })
    const { wants, calls } = wordsOf(request([{ to: TO, value: '0', input }], 'token_mint'), [minting])
    expect(wants).toBe(`Mint tokens of the wallet ${WALLET} on Ethereum.`)
    expect(calls[0]?.at(-1)).toBe('value is 1500000, which is 1.5 USDC.')
    const others = (['token', 'token_transfer'] as const).map((action) => wordsOf(request([], action), []).wants)
    expect(others).toEqual([
      `Create a token of the wallet ${WALLET} on Ethereum.`,
      `Transfer tokens or coins of the wallet ${WALLET} on Ethereum.`,
    ])
  })

  test('describes each call of a batch with its arguments and what it would move', () => {
    const call = { to: TO, value: '0', input: '0xa9059cbb' }
    const token = {
      uuid: '',
      network: 'Ethereum',
      contract_address: TO,
      name: 'USD',
      symbol: 'USDC',
      decimals: 6,
      display_decimals: 2,
      logo_url: '',
    }
    const change = { amount: '2', raw_amount: '2000000', from: WALLET, to: TO, token, nft: null }
    const decoded = preview({
      function_name: 'transfer',
      arguments: { to: TO, value: '2000000', more: { list: [1] } },
      simulation: { success: true, asset_changes: [change], error: null },
    })
    const { calls } = wordsOf(request([call, { ...call, value: '1' }], 'batch'), [decoded, preview()])
    expect(calls).toEqual([
      [
        `It calls transfer of ${TO}.`,
        `to is ${TO}.`,
        'value is 2000000.',
        'more is {"list":[1]}.',
        `Now it would move 2 USDC from ${WALLET} to ${TO}.`,
      ],
      [
        `It sends 0.000000000000000001 ETH to ${TO}.`,
        `It calls a function of ${TO}, with data that cannot be read: 0xa9059cbb.`,
      ],
    ])
  })

  test('shows the amount of a token in its units, and warns of approvals', () => {
    const contract = {
      network: 'Ethereum',
      address: TO,
      type: 'token' as const,
      name: 'USD Coin',
      logo_url: '',
      token: {
        uuid: '',
        network: 'Ethereum',
        contract_address: TO,
        name: 'USD Coin',
        symbol: 'USDC',
        decimals: 6,
        display_decimals: 2,
        logo_url: '',
      },
      nft: null,
    }
    const intents = [{ to: TO, value: '0', input: '0x095ea7b3' }]
    const approve = preview({ contract, function_name: 'approve', arguments: { spender: WALLET, value: '2500000' } })
    expect(wordsOf(request(intents), [approve])).toMatchObject({
      calls: [
        [
          `It calls approve of ${TO}, which calls itself USD Coin.`,
          `spender is ${WALLET}.`,
          'value is 2500000, which is 2.5 USDC.',
        ],
      ],
      warnings: [
        'The function approve can let somebody take tokens or NFTs from this wallet later, without asking again.',
      ],
    })
    const other = preview({ contract, function_name: 'vote', arguments: { value: '2500000' } })
    expect(wordsOf(request(intents), [other])).toMatchObject({ calls: [expect.anything()], warnings: [] })
    expect(wordsOf(request(intents), [other]).calls[0]?.at(-1)).toBe('value is 2500000.')
  })

  test('warns if a transaction would fail, or if it could not be simulated', () => {
    const failing = preview({ simulation: { success: false, asset_changes: [], error: 'execution reverted: no' } })
    const intents = [{ to: TO, value: '0', input: '0x' }]
    expect(wordsOf(request(intents), [failing]).warnings).toEqual(['It would fail now: execution reverted: no'])
    expect(wordsOf(request(intents), [preview({ simulation: null })]).warnings).toEqual([
      'Nobody could try what this would do.',
    ])
    expect(wordsOf(request(intents), null).warnings).toHaveLength(1)
  })

  test("separates strangers' texts from ours, and shows hidden characters", () => {
    const evil = 'ok\u202e\nApproved by the bank'
    const decoded = preview({ function_name: evil, arguments: { [evil]: evil } })
    const words = approvalWords(coin, {
      request: request([{ to: TO, value: '0', input: '0x01' }]),
      previews: [decoded],
      signed: null,
    })
    const parts = words.calls.flat(2)
    for (const part of parts.filter(({ text }) => text.includes('bank'))) {
      expect(part).toEqual({ kind: 'code', text: 'ok\\u{202e}\\u{a}Approved by the bank' })
    }
    expect(parts.filter(({ text }) => text.includes('bank')).length).toBe(3)
  })

  test('of typed data keeps texts of others apart, says each move of an order, and warns without a node', () => {
    const evil = 'Mint” for nothing. “'
    const typed_data = {
      domain: { name: 'ok\u202eApproved', chainId: 1, verifyingContract: TO },
      types: {
        Order: [
          { name: 'items', type: 'string[]' },
          { name: 'to', type: 'string' },
          { name: 'to is Bob', type: 'string' },
        ],
      },
      primaryType: 'Order',
      message: { items: ['one', 'two'], to: 'Eve', 'to is Bob': 'no' },
    }
    const read = { ...request([], 'sign-typed-data'), typed_data }
    const moved = (effect: 'sends' | 'receives', amount: string, unknown = {}) => ({
      ...{
        effect,
        amount,
        raw_amount: amount,
        from: effect === 'sends' ? WALLET : '',
        to: effect === 'sends' ? '' : TO,
      },
      token: {
        uuid: '',
        network: 'Ethereum',
        contract_address: TO,
        name: '',
        symbol: evil,
        decimals: 0,
        ...unknown,
      } as never,
      nft: null,
    })
    const signed = {
      kind: 'seaport_order' as const,
      summary: 'Offer 1 “Mint" for nothing. "” for 2 “Mint" for nothing. "”.',
      primary_type: 'Order',
      domain: typed_data.domain,
      changes: [moved('sends', '1'), moved('receives', '2', { decimals_unknown: true })],
      warnings: ['It names no chain.'],
    }
    const words = approvalWords(coin, { request: read, previews: null, signed })
    expect(words.calls.map((call) => call.map(textOf))).toEqual([
      [
        'Offer 1 Mint" for nothing. " for 2 Mint" for nothing. ".',
        `It gives 1 ${evil}.`,
        `${TO} gets 2 base units of ${evil}.`,
        'In the domain, name is ok\\u{202e}Approved.',
        'In the domain, chainId is 1.',
        `In the domain, verifyingContract is ${TO}.`,
        'items.0 is one.',
        'items.1 is two.',
        'to is Eve.',
        // A name with spaces ends where it seems to.
        '"to is Bob" is no.',
      ],
    ])
    const parts = words.calls.flat(2).filter(({ text }) => text.includes('nothing'))
    expect(parts.map(({ kind }) => kind)).toEqual(['name', 'name', 'name', 'name'])
    expect(words.warnings.map(textOf)).toEqual(['It names no chain.'])
    const away = approvalWords(coin, { request: read, previews: null, signed: null })
    expect(away.calls[0]?.length).toBe(7)
    expect(away.warnings.map(textOf)).toEqual(['The network does not answer, so nobody has tried what this would do.'])
  })
})
