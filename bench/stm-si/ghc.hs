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
        times :: Int -> IO ()
        times 0 = pure ()
        times n = increment >> times (n - 1)
    (_, seconds) <- together (fibers o) (\_ -> times each)
    (shares, _) <- forATime o (const (pure increment))
    got <- readTVarIO x
    let expected = each * fibers o + sum shares
    when (got /= expected) $ wrong "the integer" got expected
    when (sample > 0) $ report seconds [] shares
