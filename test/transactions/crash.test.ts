// Crashes while transactions of EVM networks are sent, some of them by Safes: see crash-runs.ts.

import { startEvmGround } from './crash-evm.ts'
import { testCrashes } from './crash-runs.ts'

const RUNS = process.env.STRONGROOM_LONG === '1' ? 200 : 4

testCrashes([() => startEvmGround('at once'), () => startEvmGround('by clock')], { runs: RUNS })
