import { describe, expect, test } from 'bun:test'
import { readFileSync } from 'node:fs'
import { readConfig, readNetworks } from '../../src/platform/config.ts'
import { furtherNetworks, NETWORKS } from '../../src/platform/networks.ts'
import { runCli } from '../support/cli.ts'

const PATH = new URL('../../devnet/networks.json', import.meta.url).pathname
const TEXT = readFileSync(PATH, 'utf8')
const [ENTRY] = JSON.parse(TEXT) as readonly [Record<string, unknown>]
const VARIABLES = { ENVIRONMENT: 'mainnet', NETWORKS_FILE: PATH }

const sentenceOf = (text: string): string => {
  try {
    furtherNetworks({ name: 'networks.json', text })
    return 'taken'
  } catch (error) {
    return error instanceof Error ? error.message : ''
  }
}

const GWEI = 1_000_000_000n

describe('a file of further networks', () => {
  test('adds EVM networks after the built-in ones, with defaults for missing fields', () => {
    const rows = readNetworks(VARIABLES)
    expect(rows.map(({ network }) => network)).toEqual([...NETWORKS, 'Harbor'])
    expect(rows.at(-1)).toEqual({
      network: 'Harbor',
      family: 'evm',
      chainId: 31338,
      explorerUrl: 'https://explorer.example',
      coin: { word: 'HARB', name: 'Harbor Coin', symbol: 'HARB', decimals: 18, displayDecimals: 4, logoUrl: '' },
      minPriorityFeeWei: GWEI / 1_000n,
      believedTipWei: 2n * GWEI,
      maxFeePerGasCapWei: 500n * GWEI,
      hasDataFloor: false,
      maxTransactionGas: null,
      maxTransactionBytes: 131_072,
      confirmations: 3,
      finalDepth: 64,
      wholeBackfillBlocks: 3_600,
      blockIntervalMs: 12_000,
      stalledAfterSeconds: 120,
      pollIntervalMs: 1_000,
      knownTokens: new Map(),
      watch: { everyMs: 5_000, behindMs: 30_000, stalledAfterMs: 120_000 },
      climbAfterSeconds: 20,
      expireAfterSeconds: 1_800,
      gasPriceOracle: null,
      coinContract: null,
      nameRegistry: null,
    })
  })

  test('makes the variables of its networks work like those of the others', () => {
    const rest = { DATABASE_URL: 'postgres://127.0.0.1/x', SERVICE_KEY: 'fd:3', PUBLIC_BASE_URL: 'https://x.example' }
    const config = readConfig({
      ...VARIABLES,
      ...rest,
      HARBOR_RPC_URL: 'https://node.example',
      HARBOR_MAX_FEE_GWEI: '7',
    })
    expect(config.rpcUrls.Harbor?.[0]?.reveal()).toBe('https://node.example')
    expect(config.networks.at(-1)).toMatchObject({ maxFeePerGasCapWei: 7n * GWEI })
    expect(() => readConfig({ ...VARIABLES, ...rest, HARBOR_RPC_URL: 'http://node.example' })).toThrow(
      'HARBOR_RPC_URL must be a URL with https or wss on mainnet, unless its host is this machine.',
    )
    expect(() => readNetworks({ ...VARIABLES, HARBOR_MAX_FEE_GWEI: '0.0001' })).toThrow(
      'HARBOR_MAX_FEE_GWEI must be above 0.001, the least that Harbor takes.',
    )
  })

  test('refuses a limit for standing still that ordinary blocks exceed', () => {
    const by = (seconds: string) => readNetworks({ ...VARIABLES, ETHEREUM_STALLED_AFTER_SECONDS: seconds })
    expect(() => by('35')).toThrow('ETHEREUM_STALLED_AFTER_SECONDS must be at least 36, the usual time of 3 blocks.')
    expect(by('36').find(({ network }) => network === 'Ethereum')).toMatchObject({ stalledAfterSeconds: 36 })
    // The local chains make blocks as a test wants it.
    const local = readNetworks({
      ...VARIABLES,
      ENVIRONMENT: 'testnet',
      DEVNET: 'true',
      ETHEREUM_STALLED_AFTER_SECONDS: '1',
    })
    expect(local.find(({ network }) => network === 'Ethereum')).toMatchObject({ stalledAfterSeconds: 1 })
  })

  test('must exist', () => {
    expect(() => readNetworks({ ...VARIABLES, NETWORKS_FILE: '/nowhere.json' })).toThrow(
      'NETWORKS_FILE must be the path of a file that can be read; /nowhere.json is not (ENOENT).',
    )
  })

  const changed = (changes: Record<string, unknown>, more: readonly unknown[] = []) =>
    JSON.stringify([{ ...ENTRY, ...changes }, ...more], null, 2)
  const coin = (changes: object) => ({ coin: { ...(ENTRY.coin as object), ...changes } })

  test.each([
    ['no JSON', '[\n  {\n    "name": "A"\n    "chain_id": 1\n  }\n]', 'line 4: it is not JSON: a comma is missing.'],
    ['nothing', '', 'line 1: it is not JSON: a value is missing, or a comma is too many.'],
    ['a comment', '[\n// mine\n]', 'line 2: it is not JSON: JSON has no comments.'],
    ['a comma too many', `[\n{ "name": "A", }\n]`, 'line 2: it is not JSON: the name of a field must stand here'],
    ['an object', '{}', 'line 1: the file must be a list of at most 100 networks.'],
    ['a list of words', '[\n  "Gnosis"\n]', 'line 2: each network must be an object, one network.'],
    ['a field twice', '[\n{ "name": "Ab",\n"name": "Ac" }\n]', 'line 3: "name" is there twice.'],
    [
      'a field of another name',
      changed({ chainId: 5 }),
      'line 17: "chainId" is unknown here; known are name, chain_id, coin',
    ],
    [
      'no chain id',
      changed({ chain_id: undefined }),
      'line 2: "chain_id" is missing: it must be a whole number from 1 to',
    ],
    [
      'no coin',
      changed({ coin: undefined }),
      'line 2: "coin" is missing: it must be an object with word, name, symbol and decimals.',
    ],
    ['a chain id in text', changed({ chain_id: '5' }), 'line 4: "chain_id" must be a whole number from 1 to'],
    [
      'a name of two words',
      changed({ name: 'Har bor' }),
      'line 3: "name" must be a word of 2 to 32 letters and digits',
    ],
    ['a name in small letters', changed({ name: 'harbor' }), 'line 3: "name" must be a word of 2 to 32 letters'],
    [
      'a fee as a number',
      changed({ max_fee_gwei: 500 }),
      'line 14: "max_fee_gwei" must be a decimal number of gwei in quotation marks',
    ],
    [
      'a number as the word of a coin',
      changed(coin({ word: 5 })),
      'line 6: "coin.word" must be a word of 2 to 16 capital letters',
    ],
    [
      'an unknown field of the coin',
      changed(coin({ digits: 5 })),
      'line 10: "coin.digits" is unknown here; known are word, name,',
    ],
    [
      'no confirmations',
      changed({ confirmations: 0 }),
      'line 11: "confirmations" must be a whole number from 1 to 10000.',
    ],
    [
      'an explorer that is no URL',
      changed({ explorer_url: 'x' }),
      'line 16: "explorer_url" must be a URL that begins with https:// or http://.',
    ],
    [
      'the name of a built-in network',
      changed({ name: 'POLYGON' }),
      'line 3: "name" must be one that no other network has; there is Polygon.',
    ],
    [
      'the chain id of a built-in network',
      changed({ chain_id: 11155111 }),
      'line 4: "chain_id" must be one that no other network has; it is that of Ethereum.',
    ],
    [
      'the chain id of a built-in network in the other environment',
      changed({ chain_id: 1 }),
      'line 4: "chain_id" must be one that no other network has; it is that of Ethereum.',
    ],
    [
      'a name twice',
      changed({}, [{ ...ENTRY, chain_id: 5 }]),
      'line 19: "name" must be one that no other network has; there is Harbor.',
    ],
    [
      'a chain id twice',
      changed({}, [{ ...ENTRY, name: 'Other' }]),
      'line 20: "chain_id" must be one that no other network has; it is that of Harbor.',
    ],
    [
      'a fee cap below the minimum tip',
      changed({ max_fee_gwei: '0.001' }),
      'line 14: "max_fee_gwei" must be above "min_priority_fee_gwei".',
    ],
    [
      'finality before confirmation',
      changed({ final_depth: 2 }),
      'line 12: "final_depth" must not be below "confirmations".',
    ],
    [
      'a backfill that is too short',
      changed({ whole_backfill_blocks: 9 }),
      'line 17: "whole_backfill_blocks" must not be below "final_depth".',
    ],
    [
      'an expiry before the climb',
      changed({ expire_after_seconds: 20 }),
      'line 17: "expire_after_seconds" must be above "climb_after_seconds".',
    ],
    [
      'more display decimals than decimals',
      changed(coin({ decimals: 3, display_decimals: 4 })),
      'line 5: "coin.display_decimals" must not be above "coin.decimals".',
    ],
  ])('is refused with %s', (_, text, sentence) => {
    expect(sentenceOf(text)).toStartWith(`networks.json, ${sentence}`)
  })

  test('may have all known fields', () => {
    const oracle = '0x420000000000000000000000000000000000000F'
    const whole = {
      ...{ believed_tip_gwei: '3', has_data_floor: true, whole_backfill_blocks: 100, climb_after_seconds: 5 },
      ...{ max_transaction_gas: 2 ** 24, max_transaction_bytes: 95_000 },
      ...{ expire_after_seconds: 50, gas_price_oracle: oracle, name_registry: oracle },
      coin_contract: { address: oracle, moves_in: 'events' },
      ...coin({ display_decimals: 2, logo_url: 'https://example.com/x.png' }),
    }
    const [file] = furtherNetworks({ name: 'x', text: changed(whole) })
    expect(file).toMatchObject({
      believedTipWei: 3n * GWEI,
      hasDataFloor: true,
      maxTransactionGas: 16_777_216n,
      maxTransactionBytes: 95_000,
      gasPriceOracle: oracle,
      coinContract: { address: oracle, movesIn: 'events' },
      nameRegistry: oracle,
    })
  })
})

describe('cli networks list', () => {
  const run = (file: string) => runCli(['networks', 'list', '--json'], { ENVIRONMENT: 'mainnet', NETWORKS_FILE: file })

  test('shows the networks of a file, without a database', async () => {
    const { output, exitCode } = await run(PATH)
    expect(exitCode).toBe(0)
    expect(JSON.parse(output).at(-1)).toEqual({
      ...{ network: 'Harbor', family: 'evm', chain_id: 31338, coin: 'HARB', decimals: 18 },
      ...{ node: 'HARBOR_RPC_URL', explorer_url: 'https://explorer.example' },
    })
  })

  test('says what is wrong with a file, and where', async () => {
    const wrong = new URL('../../package.json', import.meta.url).pathname
    expect(await run(wrong)).toEqual({
      output: '',
      errors: `NETWORKS_FILE ${wrong}, line 1: the file must be a list of at most 100 networks.\n`,
      exitCode: 1,
    })
  })
})
