// The networks of the dev stack: those that are built in, and one that a file adds, as an operator would.

import { readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { type EvmNetworkRow, furtherNetworks, networkRows } from '../src/platform/networks.ts'

export const NETWORKS_FILE = fileURLToPath(new URL('./networks.json', import.meta.url))

const further = furtherNetworks({ name: NETWORKS_FILE, text: readFileSync(NETWORKS_FILE, 'utf8') })

/** All EVM networks of the dev stack. */
export const EVM_ROWS: readonly EvmNetworkRow[] = networkRows({
  environment: 'testnet',
  devnet: true,
  further,
}).filter((row) => 'chainId' in row)

export const EVM_NAMES: readonly string[] = EVM_ROWS.map(({ network }) => network)
