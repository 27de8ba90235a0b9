import { spawn } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'

/**
 * A child process that does not outlive this one, not even when this one is killed with SIGKILL.
 *
 * The child's shell starts a watcher that reads from a pipe whose only other end is held here. When this process ends,
 * in whatever way, the kernel closes that end, the watcher's read returns, and it sends the child its stop signal.
 * The shell then becomes the program (`exec`), so that the pid is the program's own. The watcher is forked twice, so
 * that it is no child of the program, which might be confused by a child that it does not know.
 * The child gets a session of its own: Ctrl-C in a terminal reaches this process only, which then stops its children in
 * the right order.
 */
export type TetheredProcess = {
  readonly pid: number
  /** Resolves once the process has ended: its exit code, or the signal that ended it. Never rejects. */
  readonly exited: Promise<string>
  /** False from the moment that the process has ended. */
  readonly isRunning: () => boolean
  /** Sends the stop signal, after `graceMs` SIGKILL, and resolves once the process has ended. May be called again. */
  readonly stop: (graceMs?: number) => Promise<void>
}

/** What to run, and how it wants to be asked to stop. */
export type TetheredCommand = {
  readonly program: string
  readonly args: readonly string[]
  readonly env: Readonly<Record<string, string | undefined>>
  /** Both output streams are appended to this file. */
  readonly logPath: string
  readonly stopSignal: 'SIGINT' | 'SIGTERM'
  readonly cwd?: string
  /** Runs as this user; only root can ask for that. */
  readonly user?: { readonly uid: number; readonly gid: number }
}

const SCRIPT = `exec 3<&0; ( ( read -r _ ; kill -s "$0" $$ ) <&3 >/dev/null 2>&1 & ); exec "$@" </dev/null 3<&-`

/** Starts a program that ends when this process does. @throws Error when it could not be started at all. */
export const startTethered = async (command: TetheredCommand): Promise<TetheredProcess> => {
  const log = openSync(command.logPath, 'a', 0o600)
  const signalName = command.stopSignal.slice('SIG'.length)
  const child = spawn('/bin/sh', ['-c', SCRIPT, signalName, command.program, ...command.args], {
    env: { ...command.env },
    stdio: ['pipe', log, log],
    detached: true,
    ...(command.cwd === undefined ? {} : { cwd: command.cwd }),
    ...command.user,
  })
  closeSync(log)
  let running = true
  const exited = new Promise<string>((resolve) => {
    child.once('exit', (code, signal) => {
      running = false
      child.stdin?.destroy()
      resolve(signal ?? `exit code ${code}`)
    })
  })
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', reject)
  })
  const { pid } = child
  if (pid === undefined) throw new Error(`${command.program} did not start.`)

  const stop = async (graceMs = 5000): Promise<void> => {
    if (!running) return
    child.kill(command.stopSignal)
    const timer = setTimeout(() => child.kill('SIGKILL'), graceMs)
    await exited
    clearTimeout(timer)
  }
  return { pid, exited, isRunning: () => running, stop }
}
