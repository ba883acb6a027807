-- Question: what does GHC's STM take for a transaction on one shared integer?
import Control.Monad
import GHC.Conc
import Transactions

main :: IO ()
main = do
  o <- options
  forM_ [1 - warmup o .. samples o] $ \sample -> do
    x <- newTVarIO (0 :: Int)
    let each = updates o `div` fibers o
        increment = atomically (readTVar x >>= \n -> writeTVar x $! n + 1)
        -- Inlined, so that each loop knows its step.
        {-# INLINE times #-}
        times :: IO () -> Int -> IO ()
        times step = go
          where
            go 0 = pure ()
            go n = step >> go (n - 1)
    (_, seconds) <- together (fibers o) (\_ -> times increment each)
    -- A warm-up round needs no shares.
    (shares, _) <- forATime (if sample > 0 then o else o {milliseconds = 1}) (const (pure increment))
    -- Counted apart: what counts takes time.
    begun <- attempts (fibers o) $ \counted _ ->
      times (atomically (counted >> readTVar x >>= \n -> writeTVar x $! n + 1)) each
    got <- readTVarIO x
    let expected = 2 * each * fibers o + sum shares
        aborts = fromIntegral (begun - each * fibers o) / fromIntegral (each * fibers o)
    when (got /= expected) $ wrong "the integer" got expected
    when (sample > 0) $ report seconds [("aborts_per_commit", aborts)] shares
