// Preloaded into a program: at SIGUSR2 it prints the paths of all modules that it has loaded.

process.on('SIGUSR2', () => {
  process.stdout.write(`loaded ${JSON.stringify(Object.keys(require.cache))}\n`)
})
