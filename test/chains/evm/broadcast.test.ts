import { expect, test } from 'bun:test'
import type { BroadcastOutcome } from '../../../src/chains/chain.ts'
import { classifyRefusal } from '../../../src/chains/evm/delivery.ts'

/** The messages in the nodes' sources, with their variable parts filled in. */
const SAID: readonly (readonly [BroadcastOutcome['kind'], string, readonly string[]])[] = [
  [
    'accepted',
    'go-ethereum, erigon, anvil, reth, besu, nethermind',
    [
      'already known',
      'AlreadyKnown',
      'Tx: [0x1d3b9f3c0a5f4bd2d6c1bb0d0c0ab4cb14ee0d3c2be2a8f4c8b6e6b0f4ad7f31] already Imported',
      'already imported',
      'existing txn with same hash',
      'known transaction: 1d3b9f3c',
      'Known transaction',
      'transaction already in mempool',
    ],
  ],
  [
    'nonce_too_low',
    'go-ethereum, coreth, nethermind, anvil, reth',
    [
      'nonce too low',
      'nonce too low: next nonce 5, tx nonce 3',
      'nonce too low: address 0x970E8128AB834E8EAC17Ab8E3812F010678CF791 next nonce 5, tx nonce 3',
      'OldNonce, Current nonce: 5, nonce of rejected tx: 3.',
    ],
  ],
  [
    'nonce_too_high',
    'anvil, go-ethereum, nethermind',
    [
      'Nonce too high',
      'nonce too high: address 0x970E8128AB834E8EAC17Ab8E3812F010678CF791 tx nonce 9, gapped nonce 5',
      'NonceGap, Future nonce. Expected nonce: 5',
      'nonce too far in future',
      'gapped-nonce tx from delegated accounts',
      'in-flight transaction limit reached for delegated accounts',
    ],
  ],
  [
    'underpriced',
    'go-ethereum, bor, erigon, nethermind, anvil, reth',
    [
      'replacement transaction underpriced',
      'replacement transaction underpriced: new tx gas fee cap 1 <= 2 queued',
      'transaction underpriced',
      'transaction underpriced: tip needed 25000000000, tip permitted 1',
      'transaction underpriced: gas tip cap 1, minimum needed 25000000000',
      'underpriced',
      'could not replace existing tx',
      'fee too low',
      'FeeTooLow, MaxFeePerGas too low.',
      'FeeTooLowToCompete',
      'ReplacementNotAllowed',
      'Tx: [0x1d3b] insufficient gas price to replace existing transaction',
      'max fee per gas less than block base fee',
      'max fee per gas less than block base fee: address 0x97, maxFeePerGas: 1, baseFee: 7',
      'transaction feeCap 1 below chain minimum',
    ],
  ],
  [
    'insufficient_funds',
    'go-ethereum, coreth, anvil, nethermind, reth',
    [
      'insufficient funds for gas * price + value',
      'insufficient funds for gas * price + value: balance 0, tx cost 21000, overshot 21000',
      'Insufficient funds for gas * price + value',
      'insufficient funds for transfer',
      'insufficient funds',
      'InsufficientFunds, Balance is 0 less than sending value',
      'transaction overdraws from account',
    ],
  ],
  [
    'rejected',
    'all',
    [
      'exceeds block gas limit',
      'intrinsic gas too low',
      'intrinsic gas too low: gas 20000, minimum needed 21000',
      'intrinsic gas too high -- CallGasCostMoreThanGasLimit',
      'max priority fee per gas higher than max fee per gas',
      'tx fee (2.10 ether) exceeds the configured cap (1.00 ether)',
      'invalid sender',
      'invalid chain id for signer: have 1 want 137',
      'transaction type not supported',
      'max initcode size exceeded: code size 50000, limit 49152',
      'oversized data: transaction size 140000, limit 131072',
      'Failed to decode signed transaction',
      'rlp: value size exceeds available input length',
      'sender not an eoa: address 0x97, len(code): 23',
    ],
  ],
  [
    'unknown',
    'pools and proxies with problems of their own',
    [
      'txpool is full',
      'pending sub-pool is full',
      'spammer',
      'node is syncing',
      'account limit exceeded',
      'address already reserved',
      'Internal error',
      'upstream request timeout',
      'rate limit exceeded',
      'transaction discarded outright due to pool size constraints',
      '',
    ],
  ],
]

test('recognises the messages of each node', () => {
  for (const [kind, , messages] of SAID) {
    for (const message of messages)
      expect([message, classifyRefusal({ code: -32000, message, data: undefined }).kind]).toEqual([message, kind])
  }
})

test.each([
  ['gas_limit', 'exceeds block gas limit'],
  ['gas_limit', 'transaction gas limit too high (cap: 16777216, tx: 20000000)'],
  ['gas_limit', 'intrinsic gas too high -- tx.gas_limit > env.cfg.tx_gas_limit_cap'],
  ['gas_too_low', 'intrinsic gas too low: gas 21000, minimum needed 21064'],
  ['fee_cap', 'tx fee (2.10 ether) exceeds the configured cap (1.00 ether)'],
  ['size', 'oversized data: transaction size 140000, limit 131072'],
  ['sender', 'sender not an eoa: address 0x97, len(code): 23'],
  ['form', 'invalid chain id for signer: have 1 want 137'],
] as const)('why a node refuses for good is told in a word: %s', (refusal, message) => {
  expect(classifyRefusal({ code: -32000, message, data: undefined })).toEqual({
    ...{ kind: 'rejected', refusal, reason: message },
  })
})

test('reads the reason that nethermind appends to a general message', () => {
  expect(classifyRefusal({ code: -32000, message: 'Transaction rejected', data: 'AlreadyKnown' })).toEqual({
    kind: 'accepted',
  })
})

test('a reason is one line of limited length', () => {
  const outcome = classifyRefusal({
    code: -32000,
    message: `transaction underpriced\n${'x'.repeat(10_000)}`,
    data: undefined,
  })
  if (outcome.kind !== 'underpriced') throw new Error('expected underpriced')
  expect(outcome.reason.length).toBeLessThanOrEqual(200)
  expect(outcome.reason).not.toContain('\n')
})

test('a node that answers each refusal with the code of a revert, and no bytes of a contract, speaks for itself', () => {
  // zksync-era core/node/api_server: SubmitTransactionError has the code 3, and in `data` what a call returned.
  const told = (message: string) => classifyRefusal({ code: 3, message, data: '0x' })
  expect(told('nonce too low. allowed nonce range: 5 - 55, actual: 3')).toEqual({ kind: 'nonce_too_low' })
  expect(told('known transaction. transaction with hash 0x1d is already in the system')).toEqual({ kind: 'accepted' })
  expect(told('insufficient funds for gas + value. balance: 1, fee: 2, value: 3')).toMatchObject({
    kind: 'insufficient_funds',
  })
  expect(told('no such words')).toMatchObject({ kind: 'unknown' })
  expect(told('execution reverted: nonce too low')).toMatchObject({ kind: 'rejected', refusal: 'reverts' })
})

test('the words of a contract, which some nodes run before they accept, are a refusal and nothing else', () => {
  for (const words of ['already known', 'nonce too low', 'insufficient funds', 'underpriced']) {
    const reason = `execution reverted: ${words}`
    expect(classifyRefusal({ code: 3, message: reason, data: undefined })).toEqual({
      ...{ kind: 'rejected', refusal: 'reverts', reason },
    })
  }
})
