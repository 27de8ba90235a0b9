// Preloaded into a process: its wall clock jumps by a day at each SIGUSR2, ahead first and then behind. As on a real
// host, timers and performance.now() go on undisturbed.

const DAY_MS = 86_400_000
const JUMPS_MS = [DAY_MS, -DAY_MS]

const RealDate = Date
let offsetMs = 0
let jumps = 0

class JumpingDate extends RealDate {
  constructor(...args: readonly unknown[]) {
    if (args.length === 0) super(RealDate.now() + offsetMs)
    else super(...(args as [number]))
  }

  static override now(): number {
    return RealDate.now() + offsetMs
  }
}
globalThis.Date = JumpingDate as DateConstructor

process.on('SIGUSR2', () => {
  offsetMs = JUMPS_MS[jumps % JUMPS_MS.length] ?? 0
  jumps += 1
  process.stdout.write(`clock: ${new Date().toISOString()}\n`)
})

export {}
