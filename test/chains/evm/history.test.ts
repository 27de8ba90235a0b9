import { expect, test } from 'bun:test'
import { isBlockMissing, isHistoryPruned, isRangeTooWide, isStateMissing } from '../../../src/chains/evm/node-errors.ts'
import { RpcError } from '../../../src/chains/node/rpc.ts'

const error = (message: string, code = -32_000) => new RpcError({ method: 'eth_getLogs', code, message })

test('recognises messages about pruned blocks and receipts', () => {
  // The messages of the clients; their sources are next to the patterns.
  for (const each of [
    error('pruned history unavailable', 4444),
    error('Pruned history unavailable'),
    error('the words of another client', 4444),
    error('old data not available due to pruning: requested block 0, history is available from block 25247999'),
    error('state transitaion failed: seek with txNum=1962853355 but data before txNum=2662500000 is not available'),
    error("Receipt not available for 'From' block '11052984'.", -32_001),
    error('Receipts for block 1 (0x1) are neither stored nor reproducible from state history.', -32_602),
    error('failed to get logs for block #0 (0xd4e567..cb8fa3)'),
    error('Archive requests require a personal token. Get one at: https://example.com', -32_602),
  ]) {
    expect([each.message, isHistoryPruned(each)]).toEqual([each.message, true])
    expect([each.message, isRangeTooWide(each)]).toEqual([each.message, false])
  }
})

test('does not mistake other messages for them', () => {
  for (const each of [
    error('header not found'),
    error('unknown block'),
    error('query returned more than 10000 results'),
    error('rate limit exceeded', -32_005),
    error('missing trie node c6ebfa (path ) state 0xc6 is not available, not found'),
    error('required historical state unavailable (reexec=128)'),
    error('the method eth_getLogs does not exist/is not available', -32_601),
  ]) {
    expect([each.message, isHistoryPruned(each)]).toEqual([each.message, false])
  }
})

test('recognises every client’s message about pruned state', () => {
  for (const message of [
    'missing trie node c6ebfa (path ) state 0xc6 is not available, not found',
    'required historical state unavailable (reexec=128)',
    'historical state not available in path scheme yet',
    'State at block #11052984 is pruned',
    'old data not available due to pruning',
    'seek with txNum=1962853355 but data before txNum=2662500000 is not available',
    'No state available for block 1',
  ]) {
    expect([message, isStateMissing(error(message))]).toEqual([message, true])
    expect([message, isBlockMissing(error(message))]).toEqual([message, false])
  }
})
