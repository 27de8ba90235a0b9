import { Command } from 'commander'
import { SUBSTRATE_NETWORKS, type SubstrateNetwork, substrateNetworkRow } from '../chains/networks.ts'
import { readConfig } from '../config.ts'
import { oneOf } from './arguments.ts'
import { note, print, printJson } from './operator.ts'

/** What reads metadata takes half a second to load, and the help needs none of it. */
const loadReader = () => import('../chains/read-pin.ts')

const pin = async (network: SubstrateNetwork, { url, json }: { url?: string; json?: boolean }) => {
  const config = readConfig()
  const rpcUrl = url ?? config.rpcUrls[network]?.reveal()
  if (rpcUrl === undefined) throw new Error(`${network} has no node in the configuration: name one with --url.`)
  const { readPin } = await loadReader()
  const row = substrateNetworkRow({ ...config, network })
  const { specName, specVersion, hash, isCovered } = await readPin({ row, rpcUrl, timeoutMs: config.nodeTimeoutMs })
  if (json) return printJson({ network, spec_name: specName, spec_version: specVersion, hash, is_covered: isCovered })
  print(`${network.toUpperCase()}_METADATA_PIN=${specVersion}:${hash}`)
  note(`This is one node's word for runtime ${specName} ${specVersion}. Ask a second node, or build the runtime.`)
  if (isCovered) note('Signatures cover its metadata. It takes a pin only if it was built without the hash.')
}

export const runtimeCommands = (): Command => {
  const command = new Command('runtime').description(
    `Runtimes of ${SUBSTRATE_NETWORKS.join(' and ')}: by which metadata is signed.`,
  )
  command
    .command('pin')
    .description('Print the pin of the metadata of the runtime that a node is of now.')
    .argument('<network>', SUBSTRATE_NETWORKS.join(' or '), oneOf(SUBSTRATE_NETWORKS))
    .option('--url <url>', 'another node than that of the configuration')
    .option('--json', 'print a JSON object')
    .action(pin)
  return command
}
