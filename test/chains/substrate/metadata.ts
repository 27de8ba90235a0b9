// Runtimes by their real metadata, for what no local chain runs.

import { readFileSync } from 'node:fs'
import currentAssetHub from '@polkadot/types-support/metadata/v15/asset-hub-polkadot-hex'
import type { Hex } from '../../../src/chains/chain.ts'
import { type Runtime, readRuntime } from '../../../src/chains/substrate/runtime.ts'
import { polkadot } from '../../../src/platform/networks/polkadot.ts'
import { vara } from '../../../src/platform/networks/vara.ts'

const known = new Map<string, Runtime>()

/** Reads each runtime once in a process: that takes some tenths of a second. */
const readOnce = (...[version, read]: Parameters<typeof readRuntime>): Runtime => {
  const name = `${version.specName} ${version.specVersion}`
  const runtime = known.get(name) ?? readRuntime(version, read)
  known.set(name, runtime)
  return runtime
}

/**
 * Asset Hub as of today. The package keeps it as the runtime's API answers: an Option, and a compact length of 4 bytes.
 */
export const assetHubRuntime = (specVersion = 1_000_000): Runtime =>
  readOnce(
    { specName: 'statemint', specVersion, transactionVersion: 1 },
    { metadata: `0x${currentAssetHub.slice(12)}`, ss58Prefix: polkadot.ss58Prefix },
  )

/** null where nobody says where its metadata is. */
export const varaRuntime = (): Runtime | null => {
  const path = process.env.VARA_METADATA
  if (path === undefined || path === '') return null
  const metadata: Hex = `0x${readFileSync(path).toString('hex')}`
  return readOnce(
    { specName: 'vara', specVersion: 20_000, transactionVersion: 1 },
    { metadata, ss58Prefix: vara.ss58Prefix },
  )
}
